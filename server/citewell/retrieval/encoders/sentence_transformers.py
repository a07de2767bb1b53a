"""Any model of sentence-transformers, used as intended by its authors.

E5 needs "query: " and "passage: ", BGE an instruction before queries; other models define their
prompts themselves. Pooling and normalisation follow the model's own configuration.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitewellError, Problem
from citewell.model.display_text import first_line
from citewell.model.installing import install_command
from citewell.options.folders import import_torch, load_cached_first
from citewell.retrieval.encoders.contract import (
    GPU_BATCH,
    Encoder,
    Paper,
    clean,
    paper_text,
    torch_device,
)

_BATCH = 32


class Prefixes(msgspec.Struct, frozen=True):
    """The text prefixes of a family of models."""

    family: str
    """Prefix of the model's name, or of a part of it after a hyphen."""
    query: str = ""
    paper: str = ""


FAMILIES = (
    Prefixes("e5-mistral-", "Instruct: Retrieve the paper that this passage cites\nQuery: "),
    Prefixes("e5-", "query: ", "passage: "),
    Prefixes("bge-", "Represent this sentence for searching relevant passages: "),
)
"""The first match applies."""


def prefixes_of(model: str) -> Prefixes:
    """The prefixes of a model by the last part of its name or path; empty for other families."""
    last = model.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return next((one for one in FAMILIES if f"-{one.family}" in f"-{last}"), Prefixes(""))


class SentenceTransformersEncoder(Encoder):
    """A model by its Hugging Face name or its folder."""

    def __init__(self, model: str) -> None:
        try:
            torch = import_torch()
            import sentence_transformers
        except ImportError as error:
            why = f"{error.name or error} is not installed"
            raise encoder_missing(model, why, f"Run `{install_command('neural')}`.") from error
        self.name = model
        torch.set_num_threads(1)
        self.device = torch_device(torch)
        """The device: "cpu", "cuda" or "mps"."""
        try:
            self._model: Any = load_cached_first(
                model,
                lambda local: sentence_transformers.SentenceTransformer(
                    model, device=self.device, local_files_only=local
                ),
            )
        except Exception as error:  # hub, network, file and format errors share no base class
            raise encoder_missing(
                model, first_line(error), "Check the name and the network, or give the folder "
                "of a downloaded model."
            ) from error  # fmt: skip
        self._prefixes = prefixes_of(model)
        self._lock = threading.Lock()
        self.dim = int(self._model.get_embedding_dimension())
        self.fingerprint = f"sentence-transformers-1-{self._digest()}"

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        """Title and abstract as one text, after the family's prefix."""
        texts = [paper_text(paper) for paper in papers]
        return self._encode(texts, self._prefixes.paper, "document")

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Bare query texts, after the family's prefix."""
        return self._encode(texts, self._prefixes.query, "query")

    def _encode(self, texts: Sequence[str], prefix: str, role: str) -> NDArray[np.float32]:
        out = np.zeros((len(texts), self.dim), np.float32)
        texts = [clean(text) for text in texts]
        rows = [row for row, text in enumerate(texts) if text]
        if not rows:
            return out
        given: dict[str, Any] = {}
        if prefix:
            given["prompt"] = prefix
        elif self._model.prompts.get(role):
            given["prompt_name"] = role
        with self._lock:
            out[rows] = self._model.encode(
                [texts[row] for row in rows],
                batch_size=_BATCH if self.device == "cpu" else GPU_BATCH,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
                **given,
            )
        return out

    def _digest(self) -> str:
        """A digest of the weights themselves: a model's name does not determine its revision."""
        state = hashlib.sha256()
        for key, tensor in sorted(self._model.state_dict().items()):
            sample = tensor.detach().flatten()[:64].float().cpu().numpy()
            state.update(f"{key}{tuple(tensor.shape)}".encode())
            state.update(sample.tobytes())
        state.update(f"{self._prefixes}{self._model.max_seq_length}".encode())
        return state.hexdigest()[:16]


def encoder_missing(model: str, why: str, hint: str) -> CitewellError:
    """The error that the model cannot be loaded."""
    path = model if Path(model).is_absolute() else ""
    message = f"The encoder {model!r} cannot be used: {why}."
    hint += " Or remove it from `retrieval.encoders`; the other retrievers answer."
    return CitewellError(Problem("encoder-missing", message, hint, path=path))
