"""Which encoder a name means."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from citewell.retrieval.encoders.contract import Encoder

if TYPE_CHECKING:
    from citewell.retrieval.encoders.static import StaticEncoder

_open: WeakValueDictionary[str, StaticEncoder] = WeakValueDictionary()
"""The static encoder while something uses it: the stages of a build share it."""


def _static(name: str) -> Encoder:
    from citewell.retrieval.encoders.static import StaticEncoder

    encoder = _open.get(name)
    if encoder is None:
        encoder = _open[name] = StaticEncoder()
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
    "static": _static,
    "onnx": _onnx,
    "allenai/specter2": _specter2,
}
"""By name; any other name is a model for sentence-transformers."""


def load_encoder(name: str) -> Encoder:
    """The encoder with this name, its weights loaded. Raises `CitewellError` with the remedy."""
    return ENCODERS.get(name, _sentence_transformers)(name)
