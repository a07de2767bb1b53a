"""Evaluation data in published schemas, read as `Question`s."""

from citewell_lab.datasets.contract import DataSet, Schema
from citewell_lab.datasets.registry import SCHEMAS, open_data, recognise

__all__ = ["SCHEMAS", "DataSet", "Schema", "open_data", "recognise"]
