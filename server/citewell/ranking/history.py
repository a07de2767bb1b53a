"""What an author accepted and dismissed before, as a prior over the candidates of a search.

A cache model: what was used is used again (Kuhn and De Mori 1990). Each accepted paper has a share
of all acceptances; the share of the paper at hand and that of the author's other papers, where
acceptances for like words count more (Nadaraya 1964, Watson 1964), raise a candidate's score. The
weights are log-linear beside the trained head, whose scores are those of a softmax.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model.feedback import Event

HERE = 40.0
HERE_DOUBT = 20.0
"""So many acceptances' worth of share goes to papers that were never accepted."""
ELSEWHERE = 60.0
ELSEWHERE_DOUBT = 2.0
SHARPNESS = 4.0
"""Of likeness: words at a right angle count e^-4 of equal ones."""
DISMISSED = 0.5
"""What a paper loses in the project that dismissed it, until it is accepted there.

All six tuned by replaying the tuning part of contexts/dev (`citewell eval --data dev --split valid
--replay paper`, and `everyone`): of the priors that cost a paper cited for the first time no more
than about .01 of MRR there the strongest. Without that bound twice the gain in all is to be had, at
the price of offering again what was just cited whatever is asked."""


class Past(msgspec.Struct, frozen=True):
    """A accepted events and D papers whose last event in a project was a dismissal."""

    keys: NDArray[np.uint64]
    """Title keys of what was accepted, each once, rising, shape (K,)."""
    accepted: NDArray[np.int64]
    """Place in `keys` of each acceptance, shape (A,)."""
    asked: NDArray[np.float32]
    """What each answered, as vectors of length 1, zero where that is unknown, shape (A, d)."""
    project: NDArray[np.int64]
    """Number of the project of each acceptance, shape (A,)."""
    dismissed: dict[int, NDArray[np.uint64]]
    """By project: title keys, rising."""
    projects: dict[str, int]


def past_of(events: Sequence[Event], encoder: str, dim: int) -> Past:
    """The past as events tell it, the oldest first; vectors of another encoder count as unknown."""
    projects: dict[str, int] = {}
    accepted: list[int] = []
    owner: list[int] = []
    asked = np.zeros((len(events), dim), np.float32)
    last: dict[tuple[int, int], bool] = {}
    for event in events:
        project = projects.setdefault(event.project, len(projects))
        last[project, event.key] = event.kind == "dismissed"
        if event.kind == "accepted":
            if event.encoder == encoder and len(event.asked) == dim:
                asked[len(accepted)] = np.frombuffer(event.asked, np.int8)
            accepted.append(event.key)
            owner.append(project)
    asked = asked[: len(accepted)]
    length = np.linalg.norm(asked, axis=1, keepdims=True)
    np.divide(asked, length, out=asked, where=length > 0)
    keys, place = np.unique(np.array(accepted, np.uint64), return_inverse=True)
    gone: dict[int, list[int]] = {}
    for (project, key), was_dismissed in last.items():
        if was_dismissed:
            gone.setdefault(project, []).append(key)
    dismissed = {project: np.sort(np.array(found, np.uint64)) for project, found in gone.items()}
    return Past(keys, place.astype(np.int64), asked, np.array(owner, np.int64), dismissed, projects)


def prior(
    past: Past,
    candidates: NDArray[np.uint64],
    project: str,
    asked: NDArray[np.float32],
    *,
    typed: bool = False,
) -> NDArray[np.float32]:
    """What the past adds to the score of each candidate, by its title key, shape (n,).

    `project` is the folder of the paper being written, `asked` the query's vector, shape (d,).
    `typed` words ask for one paper: what the paper at hand cites already is then not raised, for
    its .bib is matched with them anyway.
    """
    number = past.projects.get(project, -1) if project else -1
    out = np.zeros(len(candidates), np.float32)
    if len(past.keys):
        here = past.project == number
        shares = np.zeros(len(past.keys))
        if not typed:
            shares += HERE * _shares(past, here.astype(np.float32), HERE_DOUBT)
        likeness = np.exp(SHARPNESS * (np.maximum(past.asked @ asked, 0) - 1))
        shares += ELSEWHERE * _shares(past, np.where(here, 0, likeness), ELSEWHERE_DOUBT)
        at = np.minimum(np.searchsorted(past.keys, candidates), len(past.keys) - 1)
        known = (past.keys[at] == candidates) & (candidates != 0)
        out[known] = np.log1p(shares[at[known]])
    gone = past.dismissed.get(number)
    if gone is not None:
        at = np.minimum(np.searchsorted(gone, candidates), len(gone) - 1)
        out[(gone[at] == candidates) & (candidates != 0)] -= DISMISSED
    return out


def _shares(past: Past, weights: NDArray[np.float32], doubt: float) -> NDArray[np.float64]:
    """Share of each accepted paper, shape (K,)."""
    sums = np.bincount(past.accepted, weights, minlength=len(past.keys))
    return sums / (doubt + float(weights.sum()))
