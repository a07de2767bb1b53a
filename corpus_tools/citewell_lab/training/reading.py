"""Reads many passages with the transformer, by PyTorch: a hundred thousand in ten minutes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from citewell.retrieval.encoders.citation import TRANSFORMER, passage_tokens
from citewell.retrieval.encoders.transformer import HEADS
from citewell.retrieval.encoders.wordpiece import WordPiece
from citewell_lab.training.data import CitationContext, as_query

BATCH = 128
_KEPT = "passages.npz"


class BatchReader:
    """The network of `Transformer` for batches, in float32: a processor without instructions for
    bfloat16 takes fifty times as long."""

    def __init__(self, path: Path) -> None:
        """`path` is `encoder.npz`."""
        import torch

        self._torch = torch
        with np.load(path, allow_pickle=False) as file:
            raw = {name: file[name] for name in file.files}
        self._arrays: dict[str, Any] = {}
        for name, array in raw.items():
            if name.endswith("_scale"):
                continue
            values = array.astype(np.float32)
            if f"{name}_scale" in raw:
                values *= raw[f"{name}_scale"].astype(np.float32)[:, None]
            self._arrays[name] = torch.from_numpy(values)
        self._layers = sum(name.endswith(".qkv") for name in raw)

    def read(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The vectors of texts, of length 1, shape (n, width)."""
        order = sorted(range(len(tokens)), key=lambda n: len(tokens[n]))
        out = np.zeros((len(tokens), self._arrays["words"].shape[1]), np.float32)
        for begin in range(0, len(order), BATCH):
            rows = order[begin : begin + BATCH]
            ids = np.zeros((len(rows), max(len(tokens[n]) for n in rows)), np.int64)
            for at, n in enumerate(rows):
                ids[at, : len(tokens[n])] = tokens[n]
            out[rows] = self._batch(self._torch.from_numpy(ids)).numpy()
            if begin // BATCH % 100 == 99:
                click.echo(f"{begin + len(rows)} of {len(tokens)} passages are read", err=True)
        return out

    def _batch(self, ids: Any) -> Any:
        """Vectors of token numbers (b, n), 0 where there is none."""
        torch = self._torch
        functional, take = torch.nn.functional, self._arrays
        count, longest = ids.shape
        with torch.inference_mode():
            there = ids != 0
            states = take["words"][ids] + take["positions"][:longest]
            width = states.shape[-1]

            def normed(values: Any, name: str) -> Any:
                weight, bias = take[f"{name}.weight"], take[f"{name}.bias"]
                return functional.layer_norm(values, (width,), weight, bias, 1e-12)

            def dense(values: Any, name: str) -> Any:
                return functional.linear(values, take[name], take[f"{name}.bias"])

            states = normed(states, "norm")
            seen = there[:, None, None, :].expand(-1, 1, longest, -1)
            for n in range(self._layers):
                own = f"layers.{n}."
                parts = dense(states, f"{own}qkv").view(count, longest, 3, HEADS, -1)
                query, key, value = parts.permute(2, 0, 3, 1, 4)
                mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
                mixed = mixed.transpose(1, 2).reshape(count, longest, width)
                states = normed(states + dense(mixed, f"{own}out"), f"{own}norm")
                inner = functional.gelu(dense(states, f"{own}up"))
                states = normed(states + dense(inner, f"{own}down"), f"{own}norm2")
            weight = there[..., None].to(states.dtype)
            mean = (states * weight).sum(1) / weight.sum(1)
            return functional.normalize(mean.float(), dim=1)


def passage_vectors(
    contexts: Sequence[CitationContext], weights: Path, work: Path, dim: int
) -> dict[str, NDArray[np.float32]]:
    """Vectors of the passages of citations, of length 1, by id; kept in the folder `work`."""
    names = np.array([context.id for context in contexts])
    path = work / _KEPT
    known: dict[str, int] = {}
    kept = np.zeros((0, dim), np.float16)
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            known, kept = {n: at for at, n in enumerate(file["names"].tolist())}, file["vectors"]
    missing = [n for n, name in enumerate(names.tolist()) if name not in known]
    if missing:
        cutter = WordPiece()
        tokens = [passage_tokens(cutter, as_query(contexts[n])) for n in missing]
        fresh = BatchReader(weights / TRANSFORMER).read(tokens)[:, :dim]
        fresh /= np.linalg.norm(fresh, axis=1, keepdims=True)
        order = sorted(known, key=known.__getitem__)
        kept = np.concatenate([kept, fresh.astype(np.float16)])
        stored = np.array([*order, *names[missing].tolist()])
        work.mkdir(parents=True, exist_ok=True)
        np.savez(path, names=stored, vectors=kept)
        known = {name: at for at, name in enumerate(stored.tolist())}
    return {name: kept[known[name]].astype(np.float32) for name in names.tolist()}
