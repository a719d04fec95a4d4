"""`python -m gateway.cli`: the same as `hermes`."""

import sys

from gateway.cli import main

sys.exit(main())
