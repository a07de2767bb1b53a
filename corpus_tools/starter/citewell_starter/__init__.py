"""The starter library of Citewell, as data."""

__version__ = "0.1.0"
