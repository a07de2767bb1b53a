"""Vectors computed on a Ray cluster (extra `ray`).

It is worthwhile for transformer encoders, which take 20 to 50 ms of a core for a paper. The static
encoder takes .1 ms and runs locally.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.errors import library_error
from citewell.corpus.layout import IndexBuilder
from citewell.model.system.child_process import temporary_folder
from citewell.retrieval.dense_build import DenseBuilder
from citewell.retrieval.encoders.contract import Encoder, Paper
from citewell.retrieval.encoders.registry import load_encoder

BATCH = 256
"""Papers sent to a worker at once."""
BATCHES = 8
"""Batches of each worker between two of the build's checkpoints."""
CORES = 2
"""Cores of a worker without a GPU."""
LOCAL = "local"
"""The address of a cluster on this machine only, which ends with the build."""
CONNECT_SECONDS = 10.0
_ALONE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
"""Read when Ray is imported: the cluster listens on this machine only, and requires a token."""
_NO_NETWORK = {
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "no_proxy": "localhost,127.0.0.1,::1",
}
"""Environment of the cluster's processes, one of which would query clouds whether it runs there."""
_RETRIES = 3


@contextmanager
def on_ray(builders: Sequence[IndexBuilder], address: str) -> Iterator[list[IndexBuilder]]:
    """The builders of a build, with their encoders on the cluster at `address`; unchanged for "".

    `address` is what `ray.init` takes: "HOST:PORT", "ray://HOST:PORT", "auto" or "local". Raises
    `LibraryError` without Ray or a cluster, and where no encoder would use it.
    """
    if not address:
        yield list(builders)
        return
    if not any(map(_is_worth_it, builders)):
        raise library_error(
            "ray-unused", "The settings name no encoder whose vectors a cluster would compute."
        )
    with ExitStack() as stack:
        folder = None
        if address == LOCAL:
            # Socket paths are short: the folder is the system's, whatever TMPDIR is.
            parent = "/tmp" if os.name == "posix" else None
            # Ray's agents survive a killed process.
            folder = stack.enter_context(temporary_folder(parent, end_users=True))
        ray = _connected(address, folder)
        stack.callback(ray.shutdown)
        yield [_moved(one, ray) if _is_worth_it(one) else one for one in builders]


class RayEncoder(Encoder):
    """An encoder with a copy on each worker of a cluster."""

    def __init__(self, encoder: Encoder, ray: Any) -> None:
        """`encoder` is the local one, with which the workers' must agree."""
        self.name, self.dim, self.fingerprint = encoder.name, encoder.dim, encoder.fingerprint
        self._here = encoder
        self._ray = ray
        resources = ray.cluster_resources()
        self._gpus = int(resources.get("GPU", 0))
        self._cores = min(CORES, max(1, int(resources.get("CPU", 1))))
        self.workers = self._gpus or max(1, int(resources.get("CPU", 1)) // self._cores)
        self._pool: Any = None

    def __reduce__(self) -> NoReturn:
        raise TypeError("A connection to a cluster belongs to one process.")

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        """Shape (n, dim). Raises `LibraryError` if the workers fail or load another encoder."""
        batches = [list(papers[at : at + BATCH]) for at in range(0, len(papers), BATCH)]
        if not batches:
            return np.zeros((0, self.dim), np.float32)
        try:
            if self._pool is None:
                self._pool = self._start()
            return np.concatenate(list(self._pool.map(_encode, batches)))
        except self._ray.exceptions.RayError as error:
            raise library_error(
                "ray-failed", f"A worker of the Ray cluster failed: {_first_line(error)}."
            ) from error

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Bare query texts, shape (n, dim), encoded on this machine."""
        return self._here.encode_texts(texts)

    def _start(self) -> Any:
        from ray.util import ActorPool

        remote = self._ray.remote(
            num_cpus=0 if self._gpus else self._cores,
            num_gpus=1 if self._gpus else 0,
            max_restarts=_RETRIES,
            max_task_retries=_RETRIES,
        )
        # The workers run in another folder.
        name = str(Path(self.name).absolute()) if Path(self.name).is_dir() else self.name
        workers = [remote(_Worker).remote(name) for _ in range(self.workers)]
        for found in self._ray.get([one.fingerprint.remote() for one in workers]):
            if found != self.fingerprint:
                raise library_error(
                    "ray-other-encoder",
                    f"A worker of the Ray cluster has another version of {self.name!r}.",
                )
        return ActorPool(workers)


class _Worker:
    """Runs in a process of the cluster."""

    def __init__(self, name: str) -> None:
        self._encoder = load_encoder(name)

    def fingerprint(self) -> str:
        return self._encoder.fingerprint

    def encode(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        return self._encoder.encode_papers(papers)


def _encode(worker: Any, papers: list[Paper]) -> Any:
    return worker.encode.remote(papers)


def _is_worth_it(builder: IndexBuilder) -> bool:
    return isinstance(builder, DenseBuilder) and builder.encoder.name != "citation"


def _moved(builder: IndexBuilder, ray: Any) -> IndexBuilder:
    assert isinstance(builder, DenseBuilder)
    encoder = RayEncoder(builder.encoder, ray)
    chunk = BATCH * BATCHES * encoder.workers
    return DenseBuilder(encoder, name=builder.name, hnsw_above=builder.hnsw_above, chunk=chunk)


def _connected(address: str, folder: Path | None) -> Any:
    if folder is not None:
        os.environ.update(_ALONE, RAY_AUTH_TOKEN=secrets.token_hex(32))
    try:
        import ray
    except ImportError:
        message = "Computing vectors on a cluster needs the package ray, which is not installed."
        raise library_error("ray-not-installed", message) from None
    given: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if folder is not None:
        given |= {
            "include_dashboard": False, "_node_ip_address": "127.0.0.1", "_temp_dir": str(folder)
        }  # fmt: skip
    try:
        _look_for(address)
        # The workers import from the current folder.
        with _variables(_NO_NETWORK if folder is not None else {}), chdir(sys.prefix):
            ray.init(address, **given)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, OSError) as error:
        message = f"No Ray cluster can be reached at {address}: {_first_line(error)}."
        raise library_error("ray-unreachable", message) from error
    return ray


@contextmanager
def _variables(given: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the processes started within the block."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _look_for(address: str) -> None:
    """Raise `OSError` if nothing listens: Ray itself retries for minutes, with output."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).strip().rstrip(".")[:300]
