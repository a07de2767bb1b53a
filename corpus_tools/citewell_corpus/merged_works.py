"""The work that a group of records becomes, and whether the library holds it already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from citewell.corpus.library import Library
from citewell.model import Work
from citewell.sources.combine import combine, same_content, update
from citewell_corpus.record_pool import RecordPool
from citewell_corpus.rereading import ids_without_files


def is_changed(pool: RecordPool, base: Library, members: Sequence[int]) -> bool:
    """Whether the group, which has a row of the library, becomes a new row.

    A group of rows alone does only if one of them lost a source and keeps another.
    """
    held = [record for record in members if record < pool.first_new]
    if len(held) == len(members):
        return not pool.remnants.isdisjoint(held)
    if len(held) > 1:
        return True
    row = pool.base_rows[held[0]]
    if set(base.origins_of(row)) != origins_of(pool, base, members):
        return True
    return not same_content(work_of(pool, members), pool.held_work(held[0]))


def origins_of(pool: RecordPool, base: Library | None, members: Sequence[int]) -> set[str]:
    """The added sources of the group."""
    origins = {
        pool.source(record)
        for record in members
        if record >= pool.first_new and not pool.is_only_ids(record)
    }
    for record in members if base is not None else ():
        if record < pool.first_new:
            row = pool.base_rows[record]
            assert base is not None
            if row not in pool.reread.sole:
                origins.update(pool.reread.shared.get(row) or base.origins_of(row))
    return origins


def work_of(pool: RecordPool, members: Sequence[int]) -> Work:
    """The work of the group, with the id of its first row in the library, if it has one."""
    held = [record for record in members if record < pool.first_new]
    other = [record for record in members if record >= pool.first_new]
    new = [pool.work(record) for record in other if not pool.is_only_ids(record)]
    current = [pool.work(record) for record in held if record not in pool.sole]
    if len(current) == 1:
        work = update(current[0], new) if new else current[0]
    else:
        work = combine([*new, *current])
    named = [pool.work(record) for record in other if pool.is_only_ids(record)]
    ids = dict.fromkeys(work.same_as)
    for record in held:
        if record in pool.sole:
            ids |= dict.fromkeys(_former_ids(pool, pool.held_work(record), work, members))
    ids |= dict.fromkeys(one for record in named for one in (record.id, *record.same_as))
    if held:
        first = pool.held_work(held[0]).id
        if first != work.id and first in ids:
            ids = dict.fromkeys((first, work.id, *ids))
            work = msgspec.structs.replace(work, id=first)
    if named:
        ids.pop(work.id, None)
    return msgspec.structs.replace(work, same_as=tuple(ids)) if tuple(ids) != work.same_as else work


def _former_ids(pool: RecordPool, old: Work, work: Work, members: Sequence[int]) -> Iterator[str]:
    """Ids of the row `old` that stay valid for the `work` that continues it: no DOIs, no ids that
    name another work now, and none of a file that no longer has the work."""
    sources = {origin.source for origin in work.provenance}
    gone = {origin.source for origin in old.provenance} - sources
    for one in ids_without_files((old.id, *old.same_as), gone):
        if not one.startswith("doi:") and not pool.is_taken(one, members):
            yield one
