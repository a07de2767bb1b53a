"""Evidence for the next paper of a citation, from the works that it already has.

Authors cite together what belongs together: papers near in meaning, and papers that others cite
together.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.corpus.array_sets import distinct
from citewell.model import Query
from citewell.ranking.contract import Signals

WEIGHTS = (3.0, 12.0)
"""Of co-citation and of nearness. `citewell_corpus.training.same_citation` chooses them on the
tuning part and measures what they give."""


def same_citation(
    query: Query, rows: NDArray[np.int64], vectors: NDArray[np.float32], signals: Signals
) -> NDArray[np.float32] | None:
    """Co-citation and nearness of the candidates `rows` to what the citation already has, shape
    (n, 2): how often others cite both, as a logarithm, and the cosine to the nearest of them.

    `vectors` are those of the candidates, of length 1. None where the citation is empty or the
    library has none of its works.
    """
    if not query.present:
        return None
    found = signals.rows_of_titles(query.present)
    present = signals.vectors(distinct(found[found >= 0]))
    if present is None or not len(present):
        return None
    out = np.zeros((len(rows), 2), np.float32)
    # The list of the citing paper itself, if the priors know it, is no evidence.
    cocited = signals.cocited(replace(query, nearby=query.present), rows)
    if cocited is not None:
        out[:, 0] = np.maximum(cocited[:, 0], 0)
    out[:, 1] = (vectors @ present.T).max(axis=1)
    return out


def with_same_citation(
    scores: NDArray[np.float32], inputs: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The scores with the weighted inputs added, shape (n,).

    They are moved so that the best candidate has the score that the best one had before: the
    scores keep the scale to which the confidence was fitted.
    """
    total = scores + inputs @ np.array(WEIGHTS, np.float32)
    return np.asarray(total - total.max(initial=-np.inf) + scores.max(initial=-np.inf), np.float32)
