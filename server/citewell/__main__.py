"""`python -m citewell` is the same as `citewell`."""

from citewell.cli import main

if __name__ == "__main__":
    main()
