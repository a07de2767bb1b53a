"""Writes the trained cross-encoder as an ONNX file with int8 weights, and its tokenizer."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from citewell.ranking.citation_cross_encoder import MODEL, TOKENIZER
from citewell_lab.training.crossencoder_network import PairNetwork

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
