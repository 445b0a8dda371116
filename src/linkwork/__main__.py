"""`python -m linkwork` is the command `linkwork`."""

from .cli import main

main()
