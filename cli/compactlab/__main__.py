"""`python -m compactlab`."""

from compactlab.app import main

main()
