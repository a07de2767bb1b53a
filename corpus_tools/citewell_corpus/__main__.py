"""Entry point of `python -m citewell_corpus`, equal to `citewell-corpus`."""

from citewell_corpus.cli import main

main()
