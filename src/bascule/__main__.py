"""``python -m bascule`` is the command."""

import sys

from bascule.cli.main import main

if __name__ == "__main__":
    sys.argv[0] = "bascule"  # how others are told who drives
    sys.exit(main())
