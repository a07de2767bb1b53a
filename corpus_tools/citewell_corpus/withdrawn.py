"""Records that a later file of the same origin withdraws, such as papers that Semantic Scholar
deleted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from citewell_corpus.record_pool import RecordPool
from citewell_corpus.staging import withdraws

_Origin = tuple[str, str]
"""A source and the record's identifier in it."""


def withdrawn_records(pool: RecordPool, root: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which records do not count, by record number: those that withdraw, and those whose every
    origin is withdrawn by a later record. `root` gives each record's cluster.

    A work of the library that another source holds, too, keeps its other origin and stays.
    """
    gone = np.zeros(len(root), np.bool_)
    withdrawing = withdraws(pool.table)
    if not len(withdrawing):
        return gone
    gone[withdrawing] = True
    last: dict[_Origin, int] = {}
    for record in withdrawing.tolist():
        for origin in _origins(pool, record):
            last[origin] = record
    concerned = np.isin(root, root[withdrawing]) & ~gone
    for record in np.flatnonzero(concerned).tolist():
        origins = _origins(pool, record)
        gone[record] = bool(origins) and all(last.get(one, -1) > record for one in origins)
    return gone


def _origins(pool: RecordPool, record: int) -> set[_Origin]:
    return {(one.source, one.source_id) for one in pool.work(record).provenance}
