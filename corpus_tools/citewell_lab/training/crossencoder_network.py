"""The network of the cross-encoder, in torch: the first layers of all-MiniLM-L6-v2, trained on.

A passage is read once and shared by all of its papers: in every layer the tokens of a paper see the
passage and each other, and those of the passage see the passage alone. That halves the cost of
reading each pair as one text. `export` writes it as an ONNX file with int8 weights, and its
tokenizer.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from citewell.ranking.citation_cross_encoder import MODEL, TOKENIZER

WIDTH, HEADS = 384, 12
PLACES = 128
"""Positions that are kept of the 512."""
EPSILON = 1e-12
SHARPNESS = 10.0
"""Factor of the likeness before training."""
GLANCE = -3.0
"""How little a paper's tokens look at the passage before training: MiniLM read each text alone."""


class Layer(nn.Module):  # type: ignore[misc]  # torch is not type-checked
    """One layer of BERT over a passage and its papers."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, EPSILON)
        self.glance = nn.Parameter(torch.full((HEADS, 1, 1), GLANCE))
        """Added where a paper's tokens attend to the passage's, for each head."""

    def forward(
        self, passage: Tensor, papers: Tensor, passage_bar: Tensor, paper_bar: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Passages (b, q, width), papers (b, n, p, width); bars are added to the logits of
        attention: (b, 1, 1, q) and (b, n, 1, 1, p)."""
        b, q, _ = passage.shape
        _, n, p, _ = papers.shape
        # One product for both: what is exported quantises each weight once.
        states = self.qkv(_joined(passage, papers))
        own = states[:, : b * q].view(b, q, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        theirs = states[:, b * q :].view(b, n, p, 3, HEADS, -1).permute(3, 0, 1, 4, 2, 5)
        scale = (WIDTH // HEADS) ** -0.5
        weights = own[0] @ own[1].transpose(-1, -2) * scale + passage_bar
        seen = (weights.softmax(-1) @ own[2]).transpose(1, 2).reshape(b, q, WIDTH)
        over = theirs[0] @ own[1][:, None].transpose(-1, -2) * scale
        over = over + passage_bar[:, None] + self.glance
        inside = theirs[0] @ theirs[1].transpose(-1, -2) * scale + paper_bar
        weights = torch.cat([over, inside], -1).softmax(-1)
        read = weights[..., :q] @ own[2][:, None] + weights[..., q:] @ theirs[2]
        read = read.transpose(2, 3).reshape(b, n, p, WIDTH)
        states = self.norm(_joined(passage, papers) + self.out(_joined(seen, read)))
        states = self.norm2(states + self.down(nn.functional.gelu(self.up(states))))
        return states[:, : b * q].view(b, q, WIDTH), states[:, b * q :].view(b, n, p, WIDTH)


def _joined(passage: Tensor, papers: Tensor) -> Tensor:
    return torch.cat([passage.reshape(1, -1, WIDTH), papers.reshape(1, -1, WIDTH)], 1)


class PairNetwork(nn.Module):  # type: ignore[misc]  # torch is not type-checked
    """Scores of papers for passages."""

    def __init__(self, words: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, WIDTH)
        self.places = nn.Embedding(PLACES, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.shared = nn.Parameter(torch.zeros(WIDTH))
        """Added to a paper's tokens that the passage holds, too."""
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.sharpness = nn.Parameter(torch.tensor(SHARPNESS))
        self.judge = nn.Linear(WIDTH, 1)
        nn.init.zeros_(self.judge.weight)
        nn.init.zeros_(self.judge.bias)

    def forward(self, passage: Tensor, papers: Tensor) -> Tensor:
        """Token ids, 0 where there is none: passages (b, q), papers (b, n, p). Shape (b, n)."""
        own, theirs = passage != 0, papers != 0
        both = (papers[..., None] == passage[:, None, None, :]) & (papers[..., None] > FIRST_WORD)
        first = self.norm(self._embedded(passage))
        second = self.norm(
            self._embedded(papers) + both.any(-1, keepdim=True).to(first.dtype) * self.shared
        )
        own_bar = (own[:, None, None].to(first.dtype) - 1) * BAR
        their_bar = (theirs[:, :, None, None].to(first.dtype) - 1) * BAR
        for layer in self.layers:
            first, second = layer(first, second, own_bar, their_bar)
        a, b = _mean(first, own), _mean(second, theirs)
        likeness = (a[:, None] * b).sum(-1)
        return self.sharpness * likeness + self.judge(second[:, :, 0]).squeeze(-1)

    def _embedded(self, ids: Tensor) -> Tensor:
        place = torch.arange(ids.shape[-1], device=ids.device)
        return self.words(ids) + self.places(place)


BAR = 1e4
FIRST_WORD = 60
"""Ids below are marks and the most frequent tokens, which all texts share."""


def _mean(states: Tensor, there: Tensor) -> Tensor:
    """Mean of the states at length 1."""
    weight = there[..., None].to(states.dtype)
    total = (states * weight).sum(-2) / weight.sum(-2).clamp(min=1)
    return total / total.norm(dim=-1, keepdim=True).clamp(min=1e-6)


def from_minilm(folder: Path, kept: NDArray[np.int64], layers: int) -> PairNetwork:
    """The network with the weights of all-MiniLM-L6-v2: its first layers, and the tokens `kept`."""
    from safetensors.torch import load_file

    network = PairNetwork(len(kept), layers)
    network.load_state_dict({**network.state_dict(), **_taken(folder, kept, layers, load_file)})
    return network


def _taken(folder: Path, kept: NDArray[np.int64], layers: int, load_file: Any) -> dict[str, Tensor]:
    given: Mapping[str, Tensor] = load_file(str(folder / "model.safetensors"))
    start = "embeddings."
    places = given[start + "position_embeddings.weight"][:PLACES]
    found = {
        "words.weight": given[start + "word_embeddings.weight"][torch.from_numpy(kept)],
        "places.weight": places + given[start + "token_type_embeddings.weight"][0],
        "norm.weight": given[start + "LayerNorm.weight"],
        "norm.bias": given[start + "LayerNorm.bias"],
    }
    names = {
        "out": "attention.output.dense", "norm": "attention.output.LayerNorm",
        "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
    }  # fmt: skip
    for number in range(layers):
        start = f"encoder.layer.{number}."
        for part in ("weight", "bias"):
            own = [given[f"{start}attention.self.{n}.{part}"] for n in ("query", "key", "value")]
            found[f"layers.{number}.qkv.{part}"] = torch.cat(own)
            for ours, name in names.items():
                found[f"layers.{number}.{ours}.{part}"] = given[f"{start}{name}.{part}"]
    return found


OPSET = 17


class QuantizedEmbedding(nn.Module):  # type: ignore[misc]  # torch is not type-checked
    """An embedding of int8 numbers with a scale for each token."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        scale = weight.abs().amax(1, keepdim=True).clamp(min=1e-9) / 127
        self.register_buffer("table", (weight / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)

    def forward(self, ids: Tensor) -> Tensor:
        """Vectors of the tokens."""
        table: Any = self.table
        scale: Any = self.scale
        return torch.as_tensor(table[ids].float() * scale[ids])


def export(network: PairNetwork, tokenizer: Any, into: Path) -> None:
    """Writes `model.onnx` and `tokenizer.json` into the folder.

    The weights of the layers are int8 for each output (seven bits, which processors without VNNI
    need); the states between them float32.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    into.mkdir(parents=True, exist_ok=True)
    network = network.cpu().eval()
    network.words = QuantizedEmbedding(network.words.weight.detach())
    given = (torch.ones(1, 7, dtype=torch.int64), torch.ones(1, 3, 11, dtype=torch.int64))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # The exporter that is recommended instead needs another package.
        warnings.simplefilter("ignore")
        plain = Path(folder) / "plain.onnx"
        torch.onnx.export(
            network,
            given,
            str(plain),
            input_names=["passage", "papers"],
            output_names=["scores"],
            dynamic_axes={"passage": {1: "q"}, "papers": {1: "n", 2: "p"}, "scores": {1: "n"}},
            opset_version=OPSET,
            dynamo=False,
        )
        quantize_dynamic(
            plain,
            into / MODEL,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
        )
    tokenizer.save(str(into / TOKENIZER), pretty=False)
