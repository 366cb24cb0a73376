"""`python -m traindoctor` is the `diagnose` command."""

import sys

from traindoctor.cli import main

if __name__ == "__main__":
    sys.exit(main())
