"""Which encoder a name means."""

from __future__ import annotations

from collections.abc import Callable

from citewell.retrieval.encoders.contract import Encoder


def _static(name: str) -> Encoder:
    from citewell.retrieval.encoders.static import StaticEncoder

    return StaticEncoder()


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
    "static": _static,
    "onnx": _onnx,
    "allenai/specter2": _specter2,
}
"""By name; any other name is a model for sentence-transformers."""


def load_encoder(name: str) -> Encoder:
    """The encoder with this name, its weights loaded. Raises `CitewellError` with the remedy."""
    return ENCODERS.get(name, _sentence_transformers)(name)
