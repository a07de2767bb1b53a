"""Names of the retrievers and indexes of encoders. Imports nothing heavy: front ends read them."""

from __future__ import annotations

import re

FURTHER = "dense-"
"""Begins the name of the retriever, and of the index, of an encoder beside the static one."""


def further_name(encoder: str) -> str:
    """The retriever and index of an encoder beside the static one, as a file name.

    A Hugging Face name is written as in its cache: "dense-intfloat--e5-small-v2". That of a folder
    ends with a hash of its path: "dense-model-3f2a1c".
    """
    parts = [part for part in re.split(r"[/\\]+", encoder) if part]
    is_folder = len(parts) > 2 or encoder[:1] in "/\\.~" or encoder[1:2] == ":"
    slug = parts[-1] if is_folder and parts else "--".join(parts)
    slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", slug)
    if is_folder:
        import hashlib

        slug += f"-{hashlib.sha256(encoder.encode()).hexdigest()[:6]}"
    return FURTHER + slug
