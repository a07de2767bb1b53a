"""The words that no retriever looks for: those of `model.stopwords`."""

from __future__ import annotations

from citewell.model.stopwords import STOPWORDS

__all__ = ["STOPWORDS"]
