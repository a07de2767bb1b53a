"""Joins frequent word pairs of titles into one token, so that a title takes fewer tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST = 30
"""Minimum occurrences of a pair for a joint token to save space."""
ROUNDS = 2
"""In the second round phrases grow: "of" "the art" becomes "of the art"."""
_NEVER = np.iinfo(np.int64).max


def join_phrases(
    tokens: NDArray[np.int64], rows: NDArray[np.int64], names: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of all titles with frequent pairs joined, and the row of each; new tokens are
    added to `names`, as their words with a blank between."""
    for _ in range(ROUNDS):
        tokens, rows = _join(tokens, rows, names)
    return tokens, rows


def _join(
    tokens: NDArray[np.int64], rows: NDArray[np.int64], names: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    texts = list(names)
    count = len(texts)
    pair = tokens[:-1] * count + tokens[1:]
    inside = rows[:-1] == rows[1:]
    found, often = np.unique(pair[inside], return_counts=True)
    found, often = found[often >= LEAST], often[often >= LEAST]
    if not len(found):
        return tokens, rows
    rank = np.empty(len(found), np.int64)
    rank[np.lexsort((found, -often))] = np.arange(len(found))
    at = np.minimum(np.searchsorted(found, pair), len(found) - 1)
    wanted = inside & (found[at] == pair)
    # Of pairs that share a token the more frequent one is joined, of equal ones the first.
    own = np.where(wanted, rank[at], _NEVER)
    before = np.concatenate([np.full(1, _NEVER), own[:-1]])
    after = np.concatenate([own[1:], np.full(1, _NEVER)])
    chosen = wanted & (own < before) & (own <= after)
    pays = np.bincount(at[chosen], minlength=len(found)) >= LEAST
    place = np.flatnonzero(chosen)
    place = place[pays[at[place]]]
    number = np.zeros(len(found), np.int64)
    for one in np.flatnonzero(pays).tolist():
        left, right = divmod(int(found[one]), count)
        number[one] = names.setdefault(f"{texts[left]} {texts[right]}", len(names))
    tokens = tokens.copy()
    tokens[place] = number[at[place]]
    keep = np.ones(len(tokens), np.bool_)
    keep[place + 1] = False
    return tokens[keep], rows[keep]
