"""One fixed division of a data set by repository, so that no training or tuning sees the test.

A repository is the unit: papers of one author share sentences, references and habits, so a split
by paper alone would leak. The division follows from the name only; it never changes when a data
set grows, and everything that trains or tunes asks here.
"""

from __future__ import annotations

import hashlib
from typing import Literal

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")

TRAIN, VALID = 40, 60
"""Of a hundred buckets, those below 40 train and those below 60 validate."""


def split_of(unit: str) -> Split:
    """The split of a repository (or of a paper, where the data set knows no repository)."""
    bucket = int.from_bytes(hashlib.sha256(unit.encode("utf-8")).digest()[:8], "big") % 100
    if bucket < TRAIN:
        return "train"
    return "valid" if bucket < VALID else "test"
