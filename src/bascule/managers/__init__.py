"""The managers: one module or package per resource manager; none knows another."""
