"""Where torch computes, the same for every encoder."""

from __future__ import annotations

from typing import Any

GPU_BATCH = 64
"""Texts that a GPU encodes at once: enough work for its cores, in the memory of a small one."""


def torch_device(torch: Any) -> str:
    """The name of the first device that torch finds: "cuda", "mps" (Apple), else "cpu"."""
    if torch.cuda.is_available():
        return "cuda"
    backend = getattr(torch.backends, "mps", None)
    return "mps" if backend is not None and backend.is_available() else "cpu"
