"""SPECTER2: one base model with an adapter for papers and another for short queries."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from citewell.retrieval.encoders.sentence_transformers import encoder_missing

BASE = "allenai/specter2_base"
PAPERS = "allenai/specter2"
QUERIES = "allenai/specter2_adhoc_query"
MAX_TOKENS = 512
_BATCH = 16


class Specter2Encoder(Encoder):
    """The vector of the first token of "title [SEP] abstract" with the proximity adapter.

    Queries pass through the ad-hoc query adapter (Singh et al. 2023, SciRepEval). `base`, `papers`
    and `queries` are Hugging Face names or folders.
    """

    def __init__(self, base: str = BASE, papers: str = PAPERS, queries: str = QUERIES) -> None:
        self.name = PAPERS
        try:
            torch = import_torch()
            import adapters
            import transformers
        except ImportError as error:
            why = f"{error.name or error} is not installed"
            hint = f"Run `{install_command('specter2')}`."
            raise encoder_missing(PAPERS, why, hint) from error
        torch.set_num_threads(1)
        self._torch = torch

        def load(local: bool) -> tuple[Any, Any]:
            tokenizer = transformers.AutoTokenizer.from_pretrained(base, local_files_only=local)
            model = adapters.AutoAdapterModel.from_pretrained(base, local_files_only=local)
            model.load_adapter(papers, load_as="papers", local_files_only=local)
            model.load_adapter(queries, load_as="queries", local_files_only=local)
            return tokenizer, model

        try:
            self._tokenizer, self._model = load_cached_first(base, load)
        except Exception as error:  # hub, network, file and format errors share no base class
            hint = "Check the network."
            raise encoder_missing(PAPERS, first_line(error), hint) from error
        self.device = torch_device(torch)
        """The device: "cpu", "cuda" or "mps"."""
        self._model.to(self.device).eval()
        self._lock = threading.Lock()
        self.dim = int(self._model.config.hidden_size)
        self.fingerprint = f"specter2-1-{self._digest()}"

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        """Vectors of titles and abstracts, joined by the model's separator token."""
        separator = self._tokenizer.sep_token
        return self._encode([paper_text(paper, separator) for paper in papers], "papers")

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Bare query texts."""
        return self._encode(texts, "queries")

    def _encode(self, texts: Sequence[str], adapter: str) -> NDArray[np.float32]:
        out = np.zeros((len(texts), self.dim), np.float32)
        texts = [clean(text) for text in texts]
        order = sorted((i for i, t in enumerate(texts) if t), key=lambda i: len(texts[i]))
        with self._lock, self._torch.inference_mode():
            self._model.set_active_adapters(adapter)
            size = _BATCH if self.device == "cpu" else GPU_BATCH
            for begin in range(0, len(order), size):
                rows = order[begin : begin + size]
                coded = self._tokenizer(
                    [texts[row] for row in rows],
                    padding=True,
                    truncation=True,
                    max_length=MAX_TOKENS,
                    return_tensors="pt",
                    return_token_type_ids=False,
                ).to(self.device)
                first = self._model(**coded).last_hidden_state[:, 0]
                out[rows] = self._torch.nn.functional.normalize(first, dim=1).cpu().numpy()
        return out

    def _digest(self) -> str:
        state = hashlib.sha256(str(MAX_TOKENS).encode())
        for key, tensor in sorted(self._model.state_dict().items()):
            state.update(f"{key}{tuple(tensor.shape)}".encode())
            state.update(tensor.detach().flatten()[:64].float().cpu().numpy().tobytes())
        return state.hexdigest()[:16]
