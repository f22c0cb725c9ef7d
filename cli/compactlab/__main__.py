"""`python -m compactlab`."""

from compactlab.app import main

if __name__ == "__main__":
    main()
