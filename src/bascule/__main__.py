"""``python -m bascule`` is the command."""

import sys

from bascule.cli.main import main

sys.exit(main())
