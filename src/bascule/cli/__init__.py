"""
The command: one small module per command, imported when it is called.

``main`` is the entry point and has the list; ``output`` is the only place that prints,
``exits`` the table of exit codes, ``faults`` what becomes of errors, ``session`` how a
home is opened, caught up with and left.
"""
