"""Encoders: texts into vectors. Adding one is a module here and a line in `registry`."""

from citewell.retrieval.encoders.contract import Encoder, Paper
from citewell.retrieval.encoders.registry import load_encoder

__all__ = ["Encoder", "Paper", "load_encoder"]
