"""Loads cross-encoders: ONNX files with onnxruntime, anything else with sentence-transformers.

The user names one by a folder or by its Hugging Face name, in a setting that no workspace file can
set. A name is looked up among earlier downloads, and downloaded only if it is missing there, unless
`HF_HUB_OFFLINE` or `TRANSFORMERS_OFFLINE` forbids it. Weights are read as safetensors or ONNX:
never as pickles, and no code of a model is run.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import platform
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.model import CitewellError, Problem
from citewell.model.display_text import first_line
from citewell.model.installing import install_command
from citewell.options.folders import import_torch, is_hub_off, load_cached_first
from citewell.ranking.cross_encoder import PairModel

logger = logging.getLogger(__name__)

MAX_TOKENS = 192
"""Maximum tokens of passage and paper together: title and most abstracts; the cost grows faster
than the length."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
_X86 = ("quint8_avx2", "qint8_avx512", "quantized", "int8", "uint8")
_ARM = ("qint8_arm64", "quantized", "int8", "uint8")
_MAX_CONFIG = 1 << 20


def load_pair_model(name: str) -> PairModel:
    """The cross-encoder in a folder or with a Hugging Face name.

    Raises `CitewellError` "reranker-missing" with a hint when it cannot be loaded.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        graph = onnx_file(path)
        return _Onnx(name, path, graph) if graph is not None else _Torch(name, str(path))
    if path.is_absolute() or name.startswith((".", "~")) or not _HUB_NAME.fullmatch(name):
        raise reranker_missing(
            name, "there is no such folder", "Check `retrieval.cross_encoder`: it takes the folder "
            "of a model or its Hugging Face name."
        )  # fmt: skip
    return _Torch(name, name)


def onnx_file(folder: Path) -> Path | None:
    """The ONNX file in a model's folder, preferably an int8 one for this processor."""
    wanted = _ARM if platform.machine().lower() in ("arm64", "aarch64") else _X86
    foreign = "avx" if wanted is _ARM else "arm64"
    files = [*folder.glob("*.onnx"), *(folder / "onnx").glob("*.onnx")]

    def place(file: Path) -> tuple[bool, int, str]:
        stem = file.stem.lower()
        fits = next((n for n, cue in enumerate(wanted) if cue in stem), len(wanted))
        return foreign in stem, fits, stem

    return min(files, key=place, default=None)


def providers(onnxruntime: Any) -> list[str]:
    """The GPU if this build of onnxruntime supports one, then the processor."""
    gpu, processor = "CUDAExecutionProvider", "CPUExecutionProvider"
    return [gpu, processor] if gpu in onnxruntime.get_available_providers() else [processor]


class _Onnx:
    """An ONNX graph over token ids of a pair, with one logit, or two for no and yes."""

    def __init__(self, name: str, folder: Path, graph: Path) -> None:
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise _extra(name, error, "onnx") from error
        tokenizer = next(
            (f for f in (graph.parent, folder) if (f / "tokenizer.json").is_file()), None
        )
        if tokenizer is None:
            raise reranker_missing(
                name, "there is no tokenizer.json beside the ONNX file", "Copy the model's own."
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = _threads()
        options.inter_op_num_threads = 1
        # Spinning workers starve the editor and every other process of the author's laptop.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                str(graph), options, providers=providers(onnxruntime)
            )
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise reranker_missing(name, first_line(error), "Check the files.") from error
        self._tokenizer.enable_truncation(_limit(folder))
        self._tokenizer.enable_padding()
        self._takes = {one.name for one in self._session.get_inputs()}
        _try(name, self)

    def scores(self, query: str, papers: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n,)."""
        if not papers:
            return np.zeros(0, np.float32)
        coded = self._tokenizer.encode_batch([(query, paper) for paper in papers])
        feed = {
            "input_ids": np.array([one.ids for one in coded], np.int64),
            "attention_mask": np.array([one.attention_mask for one in coded], np.int64),
            "token_type_ids": np.array([one.type_ids for one in coded], np.int64),
        }
        inputs = {key: value for key, value in feed.items() if key in self._takes}
        return _one_score(np.asarray(self._session.run(None, inputs)[0], np.float32), len(papers))


class _Torch:
    """A model of sentence-transformers, by folder or Hugging Face name."""

    def __init__(self, name: str, place: str) -> None:
        try:
            torch = import_torch()
            import sentence_transformers
        except ImportError as error:
            raise _extra(name, error, "neural") from error
        with contextlib.suppress(ImportError, AttributeError):
            # Progress bars do not belong in an editor's log or in a command's output.
            importlib.import_module("transformers.utils.logging").disable_progress_bar()
        given: dict[str, Any] = {
            "device": "cuda" if torch.cuda.is_available() else "cpu",
            "max_length": _limit(Path(place)),
            "trust_remote_code": False,
            # The bare logit: a sigmoid makes the best few equal in float32.
            "activation_fn": torch.nn.Identity(),
            "model_kwargs": {"use_safetensors": True},
        }
        try:
            self._model: Any = load_cached_first(
                place,
                lambda local: sentence_transformers.CrossEncoder(
                    place, local_files_only=local, **given
                ),
            )
        except Exception as error:  # hub, network, file and format errors share no base class
            hint = "Check the name and the network, or give the folder of a downloaded model."
            if is_hub_off():
                hint = "The hub is switched off (HF_HUB_OFFLINE): give the folder of a model."
            raise reranker_missing(name, first_line(error), hint) from error
        self._torch: Any = torch
        self._lock = threading.Lock()
        _try(name, self)

    def scores(self, query: str, papers: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n,)."""
        if not papers:
            return np.zeros(0, np.float32)
        with self._lock:
            # An encoder in the same process may have set one thread, which suits one query.
            self._torch.set_num_threads(_threads())
            found = self._model.predict(
                [(query, paper) for paper in papers],
                batch_size=len(papers),
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return _one_score(np.asarray(found, np.float32), len(papers))


def _one_score(found: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """One number a pair: the logit, or the log-odds of a model with two."""
    table = found.reshape(count, -1)
    if table.shape[1] == 2:
        return np.asarray(table[:, 1] - table[:, 0], np.float32)
    if table.shape[1] != 1:
        raise ValueError(f"the model gives {table.shape[1]} numbers for a pair, not one")
    return np.asarray(table[:, 0], np.float32)


def _try(name: str, model: PairModel) -> None:
    """Score one pair, to detect an unsuitable model before the author's first search."""
    try:
        model.scores("a passage", ["a paper"])
    except Exception as error:
        raise reranker_missing(name, first_line(error), "Name a cross-encoder.") from error


def _limit(folder: Path) -> int:
    """Maximum tokens of a pair: no more than the model has positions."""
    try:
        with (folder / "config.json").open("rb") as stream:
            config = json.loads(stream.read(_MAX_CONFIG))
        places = int(config["max_position_embeddings"])
        # RoBERTa counts positions from the padding token's number.
        places -= 2 if "roberta" in str(config.get("model_type")) else 0
    except (OSError, ValueError, KeyError, TypeError):
        return MAX_TOKENS
    return max(8, min(MAX_TOKENS, places))


def _threads() -> int:
    return max(1, min(4, os.cpu_count() or 1))


def reranker_missing(name: str, why: str, hint: str) -> CitewellError:
    """The error that the model cannot be loaded."""
    message = f"The cross-encoder {name!r} cannot be used: {why}."
    hint = f"{hint} Searches continue without it."
    return CitewellError(Problem("reranker-missing", message, hint))


def _extra(name: str, error: ImportError, extra: str) -> CitewellError:
    return reranker_missing(
        name,
        f"{error.name or error} is not installed",
        f"Run `{install_command(extra)}`, or leave `retrieval.cross_encoder` empty.",
    )
