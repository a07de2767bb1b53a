"""`python -m citewell_corpus`: the same as `citewell-corpus`."""

from citewell_corpus.cli import main

main()
