"""Encoders and their retrievers by name. Imports nothing heavy, since front ends read it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from citewell.retrieval.encoders.citation import CitationEncoder
    from citewell.retrieval.encoders.contract import Encoder

FURTHER = "dense-"
"""Prefix of the retriever's and index's name of a further encoder."""


def further_name(encoder: str) -> str:
    """The name of a further encoder's retriever and index, valid as a file name.

    A Hugging Face name is written as in its cache: "dense-intfloat--e5-small-v2". The name for a
    folder ends with a hash of its path: "dense-model-3f2a1c".
    """
    parts = [part for part in re.split(r"[/\\]+", encoder) if part]
    is_folder = len(parts) > 2 or encoder[:1] in "/\\.~" or encoder[1:2] == ":"
    slug = parts[-1] if is_folder and parts else "--".join(parts)
    slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", slug)
    if is_folder:
        import hashlib

        slug += f"-{hashlib.sha256(encoder.encode()).hexdigest()[:6]}"
    return FURTHER + slug


_open: WeakValueDictionary[str, CitationEncoder] = WeakValueDictionary()
"""The citation encoder while it is in use: the stages of a build share it."""


def _citation(name: str) -> Encoder:
    from citewell.retrieval.encoders.citation import CitationEncoder

    encoder = _open.get(name)
    if encoder is None:
        encoder = _open[name] = CitationEncoder()
    return encoder


def _onnx(name: str) -> Encoder:
    from citewell.retrieval.encoders.onnx import OnnxEncoder

    return OnnxEncoder()


def _specter2(name: str) -> Encoder:
    from citewell.retrieval.encoders.specter2 import Specter2Encoder

    return Specter2Encoder()


def _sentence_transformers(name: str) -> Encoder:
    from citewell.retrieval.encoders.sentence_transformers import SentenceTransformersEncoder

    return SentenceTransformersEncoder(name)


ENCODERS: dict[str, Callable[[str], Encoder]] = {
    "citation": _citation,
    "onnx": _onnx,
    "allenai/specter2": _specter2,
}
"""By name; any other name is a model for sentence-transformers."""


def load_encoder(name: str) -> Encoder:
    """Load the encoder with this name and its weights. Raises `CitewellError` with the remedy."""
    return ENCODERS.get(name, _sentence_transformers)(name)
