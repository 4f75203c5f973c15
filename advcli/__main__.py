"""`python -m advcli`."""

from advcli.cli import main

main()
