"""`python -m longhaul` runs the program."""

from ._program import main

main()
