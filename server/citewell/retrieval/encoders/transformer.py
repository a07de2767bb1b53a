"""The transformer that reads passages: BERT's layers (Devlin et al. 2019) in NumPy.

A passage of 78 tokens takes 19 ms of one core. PyTorch or ONNX Runtime would be faster on many
texts at once, but are several times as large as a whole base installation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, mapped_arrays

HEADS = 12
LONGEST = 128
"""Maximum number of tokens; the rest of a text is left out."""
_MATRICES = ("qkv", "out", "up", "down")
_EPSILON = 1e-12
Array = NDArray[np.float32]


class Transformer:
    """The mean of a text's last states.

    The file holds int8 matrices with a scale for each output: `words` (V, w), `positions` (n, w),
    and for each layer `qkv`, `out`, `up` and `down`, with their biases and two norms. The names
    are those of `citewell_lab.training.encoder`.
    """

    def __init__(self, path: Path) -> None:
        """Raises `OSError`, `ValueError`, `KeyError` and `BadZipFile` for a damaged file."""
        arrays = mapped_arrays("transformer-1", [path], partial(_float_arrays, path))
        self._words, self._word_scales = arrays["words"], arrays["words_scale"]
        self._positions: Array = arrays["positions"]
        self._norm = arrays["norm.weight"], arrays["norm.bias"]
        count = sum(name.endswith(".qkv") for name in arrays)
        self._layers = [_Layer(arrays, f"layers.{n}.") for n in range(count)]
        self.width = int(self._words.shape[1])

    def read(self, tokens: Sequence[int]) -> Array:
        """The mean of the states of some token numbers, shape (width,)."""
        numbers = np.asarray(tokens[:LONGEST], np.int64)
        states = self._words[numbers] * self._word_scales[numbers]
        states += self._positions[: len(numbers)]
        states = _normed(states, *self._norm)
        for layer in self._layers:
            states = layer.read(states)
        return np.asarray(states.mean(axis=0), np.float32)


class _Layer:
    """Attention, then two dense layers, each with a residual connection and a norm."""

    def __init__(self, arrays: Mapping[str, Array], name: str) -> None:
        self._qkv, self._qkv_bias = arrays[f"{name}qkv"], arrays[f"{name}qkv.bias"]
        self._out, self._out_bias = arrays[f"{name}out"], arrays[f"{name}out.bias"]
        self._up, self._up_bias = arrays[f"{name}up"], arrays[f"{name}up.bias"]
        self._down, self._down_bias = arrays[f"{name}down"], arrays[f"{name}down.bias"]
        self._norm = arrays[f"{name}norm.weight"], arrays[f"{name}norm.bias"]
        self._norm2 = arrays[f"{name}norm2.weight"], arrays[f"{name}norm2.bias"]

    def read(self, states: Array) -> Array:
        """Shape (n, width), as the states."""
        count, width = states.shape
        size = width // HEADS
        parts = (states @ self._qkv + self._qkv_bias).reshape(count, 3, HEADS, size)
        query, key, value = parts.transpose(1, 2, 0, 3)
        attention = query @ key.transpose(0, 2, 1)
        attention *= size**-0.5
        attention -= attention.max(axis=-1, keepdims=True)
        np.exp(attention, out=attention)
        attention /= attention.sum(axis=-1, keepdims=True)
        mixed = (attention @ value).transpose(1, 0, 2).reshape(count, width)
        states = _normed(states + mixed @ self._out + self._out_bias, *self._norm)
        inner = states @ self._up
        inner += self._up_bias
        return _normed(states + _gelu(inner) @ self._down + self._down_bias, *self._norm2)


def _normed(states: Array, weight: Array, bias: Array) -> Array:
    states -= states.mean(axis=-1, keepdims=True)
    spread = np.einsum("ij,ij->i", states, states) / states.shape[-1]
    states /= np.sqrt(spread + _EPSILON)[:, None]
    states *= weight
    states += bias
    return states


def _gelu(inner: Array) -> Array:
    """The tanh approximation (Hendrycks and Gimpel 2016), since numpy has no error function. It
    changes the cosine of a text's vector by less than .001."""
    out = inner * inner
    out *= 0.7978845608 * 0.044715
    out += 0.7978845608
    out *= inner
    np.tanh(out, out=out)
    out += 1
    out *= inner
    out *= 0.5
    return out


def _float_arrays(path: Path) -> Arrays:
    """Matrices in float32, transposed for multiplication from the right; the words stay int8."""
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        raw = {name: file[name] for name in file.files}
    arrays: Arrays = {}
    for name, array in raw.items():
        if name.rpartition(".")[2] in _MATRICES:
            scaled = array.astype(np.float32) * raw[f"{name}_scale"].astype(np.float32)[:, None]
            arrays[name] = np.ascontiguousarray(scaled.T)
        elif name == "words":
            arrays[name] = array
        elif name == "words_scale":
            arrays[name] = array.astype(np.float32)[:, None]
        elif not name.endswith("_scale"):
            arrays[name] = array.astype(np.float32)
    return arrays
