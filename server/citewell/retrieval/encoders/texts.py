"""What transformer encoders do to a text before their tokenizer sees it."""

from __future__ import annotations

from citewell.retrieval.encoders.contract import Paper

MAX_CHARACTERS = 20_000
"""More than any encoder reads; a pasted book must not cost a second in the tokenizer."""


def clean(text: str) -> str:
    """The text's beginning, without the lone surrogates that tokenizers refuse."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8").strip()


def paper_text(paper: Paper, join: str = ". ") -> str:
    """Title and abstract as one text; empty for a paper without either."""
    title, abstract = paper
    return f"{title}{join}{abstract}" if title and abstract else title or abstract
