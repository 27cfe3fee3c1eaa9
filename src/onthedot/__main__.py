"""`python -m onthedot` is `onthedot`."""

import sys

from onthedot.cli import main

if __name__ == "__main__":
    sys.exit(main())
