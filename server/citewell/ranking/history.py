"""A prior over the candidates of a search from the author's citations, accepted and dismissed
papers.

A cache model: papers used once are used again (Kuhn and De Mori 1990). A paper cited in the current
paper is raised a little, more if it is cited often there; one cited in the same sentence is
lowered, because authors do not cite a work twice in one sentence. A paper accepted for the author's
other papers is raised by its share of these acceptances, weighted by the similarity of the words
(Nadaraya 1964, Watson 1964). The weights are log-linear and added to the scores of the trained
head, which are those of a softmax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model.feedback import UNATTENDED, Event
from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.query import MARK

CITED = 1.25
"""Gain of a paper that is cited here once, if no other candidate is."""
OFTEN = 0.6
"""Its further gain, times the logarithm of its number of citations here."""
RIVALS = 0.4
"""Its loss, times the logarithm of one more than the number of candidates cited here."""
BESIDE = 4.0
"""Penalty of a paper that the same sentence already cites."""
UNCITED = 1.25
"""Gain of a paper that is in the author's bibliography and not cited yet, if it is the only such
candidate."""
CRITICISED = 8.0
"""Penalty of a paper that the previous sentence cites, in a sentence that criticises it:
it is not evidence against itself, and never ranks first."""
ELSEWHERE = 60.0
ELSEWHERE_DOUBT = 2.0
"""Number of acceptances whose share is reserved for papers that were never accepted."""
SHARPNESS = 4.0
"""Sharpness of the weight by similarity: orthogonal words count e^-4 times as much as equal
ones."""
DISMISSED = 0.5
"""Penalty of a paper in the project that dismissed it, until it is accepted there.

OFTEN, RIVALS and BESIDE were fitted to the training and the tuning part of contexts/dev: a
conditional logit over the candidates, all papers weighted equally. CITED is the largest multiple of
a quarter at which papers cited for the first time lose nothing on the tuning part, warm and cold.
The similarity of the words to those of earlier citations adds nothing to these: the head has
already scored the words. The others were tuned by replaying the tuning part (`citewell eval --data
dev --split valid --replay everyone`)."""
SAME_SENTENCE = 0.99
"""Cosine above which two queries of a project count as one sentence. If events are the only
evidence of citations, papers accepted in that sentence are neither raised nor lowered: the author
may have removed the citation."""

ACCEPTED, CITED_HERE, CITED_BESIDE, DISMISSED_HERE, NOT_YET_CITED, CRITICISED_HERE = range(1, 7)
"""Reasons for moving a candidate."""


class CitationHistory(msgspec.Struct, frozen=True):
    """The works cited in the current paper, by title key, ascending, shape (C,)."""

    keys: NDArray[np.uint64]
    times: NDArray[np.float32]
    """Number of citations of each; 0 for works that are only in the bibliography."""
    beside: NDArray[np.bool_]
    """Mask of the works cited in the query's sentence."""
    criticised: NDArray[np.bool_] | None = None
    """Mask of the works cited in the previous sentence, if the query's sentence criticises them."""


class Prior(msgspec.Struct, frozen=True):
    """History evidence of n candidates."""

    added: NDArray[np.float32]
    """Added to the score of each, shape (n,)."""
    why: NDArray[np.int8]
    """`ACCEPTED` and so on, 0 if nothing is added, shape (n,)."""


class Past(msgspec.Struct, frozen=True):
    """A accepted events, and D papers with a dismissal as the last event in a project."""

    keys: NDArray[np.uint64]
    """Title keys of accepted papers, each once, ascending, shape (K,)."""
    accepted: NDArray[np.int64]
    """Index in `keys` of each acceptance, shape (A,)."""
    query_vectors: NDArray[np.float32]
    """Vectors of their queries, of length 1, zero if unknown, shape (A, d)."""
    project: NDArray[np.int64]
    """Number of the project of each acceptance, shape (A,)."""
    dismissed: dict[int, NDArray[np.uint64]]
    """By project: title keys, ascending."""
    projects: dict[str, int]


def past_of(events: Sequence[Event], encoder: str, dim: int) -> Past:
    """The past from events, oldest first; vectors of another encoder count as unknown."""
    projects: dict[str, int] = {}
    accepted: list[int] = []
    owner: list[int] = []
    query_vectors = np.zeros((len(events), dim), np.float32)
    last: dict[tuple[int, int], bool] = {}
    for event in events:
        project = projects.setdefault(event.project, len(projects))
        last[project, event.key] = event.kind == "dismissed"
        if event.kind == "accepted" and event.through != UNATTENDED:
            if event.encoder == encoder and len(event.asked) == dim:
                query_vectors[len(accepted)] = np.frombuffer(event.asked, np.int8)
            accepted.append(event.key)
            owner.append(project)
    query_vectors = query_vectors[: len(accepted)]
    length = np.linalg.norm(query_vectors, axis=1, keepdims=True)
    np.divide(query_vectors, length, out=query_vectors, where=length > 0)
    keys, place = np.unique(np.array(accepted, np.uint64), return_inverse=True)
    gone: dict[int, list[int]] = {}
    for (project, key), was_dismissed in last.items():
        if was_dismissed:
            gone.setdefault(project, []).append(key)
    dismissed = {project: np.sort(np.array(found, np.uint64)) for project, found in gone.items()}
    return Past(
        keys, place.astype(np.int64), query_vectors, np.array(owner, np.int64), dismissed, projects
    )


def prior(
    past: Past,
    candidates: NDArray[np.uint64],
    project: str,
    query_vector: NDArray[np.float32],
    *,
    cited: CitationHistory | None = None,
    typed: bool = False,
) -> Prior:
    """The addition to the score of each candidate, given by title key, shape (n,).

    `project` is the folder of the paper being written; `query_vector` has shape (d,). `cited` holds
    the citations of that paper; None if the project's events are the only evidence. With `typed`,
    the query is words for one particular paper: works cited in the current paper are then neither
    raised nor lowered, because its .bib is matched with the words anyway.
    """
    number = past.projects.get(project, -1) if project else -1
    added = np.zeros(len(candidates), np.float32)
    why = np.zeros(len(candidates), np.int8)
    rising = np.argsort(candidates)
    wanted = candidates[rising]
    if len(past.keys):
        here = past.project == number
        likeness = past.query_vectors @ query_vector
        weights = np.exp(SHARPNESS * (np.maximum(likeness, 0) - 1))
        weights[here] = 0
        known, at = _known(past.keys, wanted, rising)
        shares = _shares(past, weights, ELSEWHERE_DOUBT)[at]
        added[known] = np.log1p(ELSEWHERE * shares)
        why[known] = ACCEPTED
        if cited is None:
            cited = _accepted(past, here, likeness)
    if cited is not None and len(cited.keys) and not typed:
        known, at = _known(cited.keys, wanted, rising)
        used = cited.times[at] > 0
        times = np.maximum(cited.times[at], 1)
        gain = np.where(
            used,
            CITED + OFTEN * np.log(times) - _rivals(used),
            UNCITED - _rivals(~used),
        )
        added[known] = np.where(cited.beside[at], -BESIDE, np.maximum(gain, 0))
        why[known] = np.where(
            cited.beside[at], CITED_BESIDE, np.where(used, CITED_HERE, NOT_YET_CITED)
        )
        if cited.criticised is not None:
            fallen = known[cited.criticised[at]]
            added[fallen], why[fallen] = -CRITICISED, CRITICISED_HERE
    gone = past.dismissed.get(number)
    if gone is not None:
        known, _ = _known(gone, wanted, rising)
        added[known] -= DISMISSED
        explained = np.isin(why[known], (CITED_BESIDE, CRITICISED_HERE))
        fell = known[(added[known] < 0) & ~explained]
        why[fell] = DISMISSED_HERE
    why[added == 0] = 0
    return Prior(added, why)


def _rivals(some: NDArray[np.bool_]) -> float:
    """The loss of each candidate in the mask, by the number of the others."""
    return float(RIVALS * np.log1p(np.float32(some.sum())))


def _accepted(
    past: Past, here: NDArray[np.bool_], likeness: NDArray[np.float32]
) -> CitationHistory:
    """The works that the project cites, according to its events."""
    times = np.bincount(past.accepted[here], minlength=len(past.keys))
    times[past.accepted[here & (likeness > SAME_SENTENCE)]] = 0
    used = times > 0
    none = np.zeros(int(used.sum()), np.bool_)
    return CitationHistory(past.keys[used], times[used].astype(np.float32), none)


def _known(
    keys: NDArray[np.uint64], wanted: NDArray[np.uint64], place: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the wanted keys that are among `keys`, and their indices there. Key 0 never
    matches.

    `keys` and `wanted` are sorted: searching for sorted keys costs a third.
    """
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    known = np.flatnonzero((keys[at] == wanted) & (wanted != 0))
    return place[known], at[known]


def _shares(past: Past, weights: NDArray[np.float32], doubt: float) -> NDArray[np.float64]:
    """Share of each accepted paper, shape (K,)."""
    sums = np.bincount(past.accepted, weights, minlength=len(past.keys))
    return sums / (doubt + float(weights.sum()))


# Sentences that criticise the work before them, and cite evidence for it.
#
# "However, it fails on long inputs [CITATION]" cites the work that found this out, not the one that
# fails. In "Although [CITATION] introduced it, ..." the mark comes first: there the work itself is
# meant.

_FAULT = lazy_pattern(
    r"""\b(?:
        fail(?:s|ed|ing|ure|ures)? | suffer(?:s|ed)? | cannot | can\s+not | unable | limitations?
      | ignor(?:es|ed|ing) | neglects? | neglected | lacks? | lacking | struggles? | struggled
      | poor(?:ly)? | drawbacks? | shortcomings? | weakness(?:es)? | criticis\w+ | criticiz\w+
      | overfits? | brittle | unreliable | contradict(?:s|ed)? | refut(?:es|ed) | disput(?:es|ed)
      | insufficient(?:ly)? | inadequate(?:ly)? | degrad(?:es|ed|ation) | worse | breaks?\s+down
      | (?:do|does|did|is|are|was|were)(?:\s+not|n['\u2019]t)
      | called\s+into\s+question | questioned
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_CONTRAST = lazy_pattern(
    r"^\W*(?:However|Yet|But|Unfortunately|Nevertheless|Nonetheless)\b(?:\W+\w+){5}",
    re.IGNORECASE,
)
"""A contrast with the previous sentence, in any words. "However, BERT [CITATION]" names a work and
is none.
"""


def is_criticism(sentence: str) -> bool:
    """True if a citing sentence names a fault before the mark, or begins with a contrast."""
    left, mark, _ = sentence.partition(MARK)
    return bool(mark) and bool(_FAULT.search(left) or _CONTRAST.match(left))
