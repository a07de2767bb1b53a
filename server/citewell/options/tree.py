"""The settings tree. Snake case here, camelCase only at the wire (editor settings).

Every leaf has a default and a metadata "help" that the docs and the editors' schemas repeat.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen


def _leaf(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


def _list(text: str) -> Any:
    return field(factory=tuple, metadata={"help": text})


@frozen(kw_only=True)
class LibraryOptions:
    """Which library of papers answers."""

    path: Path | None = _leaf(None, "Folder that holds the libraries; default: user data folder.")
    name: str = _leaf("default", "Name of the library to search.")


@frozen(kw_only=True)
class RetrievalOptions:
    """How candidates are found and fused."""

    bm25: bool = _leaf(True, "Search words with BM25.")
    dense: bool = _leaf(True, "Search meaning with dense vectors.")
    encoder: str = _leaf(
        "static",
        'Encoder of the dense vectors: "static", "onnx", or a Hugging Face model such as '
        '"intfloat/e5-small-v2" (needs the `neural` extra).',
    )
    fusion: Literal["rrf", "max"] = _leaf("rrf", "How the lists are fused.")
    rrf_k: int = _leaf(60, "The constant k of reciprocal rank fusion.")
    depth: int = _leaf(200, "How many candidates each retriever gives to the fusion.")
    timeout_ms: int = _leaf(2000, "A retriever that is later than this is left out of the answer.")


@frozen(kw_only=True)
class CompletionOptions:
    """What the completion list holds."""

    limit: int = _leaf(20, "Number of papers offered for a placeholder.")
    key_limit: int = _leaf(50, "Number of keys offered inside a citation.")


@frozen(kw_only=True)
class DocumentOptions:
    """What counts as a citation and as a placeholder."""

    cite_commands: tuple[str, ...] = _list("Further LaTeX cite commands, without backslash.")
    placeholders: tuple[str, ...] = _list("Further literal stand-ins for a citation.")
    default_command: str = _leaf("", "Cite command for a marker; default: the document's own most used.")


@frozen(kw_only=True)
class BibOptions:
    """How entries are written."""

    key_pattern: str = _leaf("{author}{year}{word}", "Pattern of new citation keys.")
    target: str = _leaf("", "The .bib that takes new entries; default: the first one declared.")
    abstract: bool = _leaf(False, "Write the abstract into new entries.")


@frozen(kw_only=True)
class Options:
    """The whole tree."""

    library: LibraryOptions = field(factory=LibraryOptions)
    retrieval: RetrievalOptions = field(factory=RetrievalOptions)
    completion: CompletionOptions = field(factory=CompletionOptions)
    documents: DocumentOptions = field(factory=DocumentOptions)
    bib: BibOptions = field(factory=BibOptions)
