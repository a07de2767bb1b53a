"""Entry point of `python -m citewell_corpus`, equal to `citewell-corpus`."""

from citewell_corpus.cli import main

if __name__ == "__main__":  # not in a process of a build, which imports this module
    main()
