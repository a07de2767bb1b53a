"""Look-up keys: every name of a work as a 64-bit number.

A catalogue maps numbers to rows. A look-up by DOI or title checks the record found, so that a
collision of two numbers costs time but gives no wrong answer. Numbers keep the table a third as
large as texts, and make all look-ups alike.
"""

from __future__ import annotations

import hashlib

from citewell.model import Work
from citewell.model.identifiers import (
    Identifier,
    acl_id,
    address_key,
    arxiv_id,
    arxiv_ids,
    dois_of,
    identifier_of,
    normalise_doi,
)
from citewell.model.titles import title_key


def key_number(kind: str, value: str) -> int:
    """Signed 64-bit number of a key: BLAKE2b of its kind and value."""
    data = f"{kind}\0{value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


def id_number(identifier: str) -> int:
    """Number of a work's id, or of the id of a record merged into it."""
    return key_number("id", identifier)


def doi_number(doi: str) -> int | None:
    """Number of a DOI in any spelling; None for any other text."""
    bare = normalise_doi(doi)
    return key_number("doi", bare) if bare else None


def arxiv_number(identifier: str) -> int | None:
    """Number of an arXiv identifier in any spelling, without version; None for any other text."""
    bare = arxiv_id(identifier)
    return key_number("arxiv", bare) if bare else None


def title_number(title: str) -> int | None:
    """Number of a title by `title_key`; None for a title without letters or digits."""
    return title_key_number(title_key(title)) or None


def title_key_number(key: str) -> int:
    """The number of a `title_key`; 0 for an empty one."""
    return key_number("title", key) if key else 0


def bibkey_number(key: str) -> int:
    """Number of a source's own citation key."""
    return key_number("key", key)


def record_numbers(work: Work) -> set[int]:
    """Numbers of the ids of the records in a work, as the sources name them."""
    ids = (work.id, *work.same_as)
    return {id_number(identifier) for identifier in ids if not identifier.startswith("doi:")}


def identity_numbers(work: Work) -> set[int]:
    """Numbers of the identifiers that determine the work, from any source.

    These are the ids of its records and its DOIs ("doi:..." in `same_as` are those of other
    versions); also the Anthology's identifier and OpenReview's forum, read from the address or the
    DOI, because most sources link there without naming the identifier.
    """
    numbers = {id_number(identifier) for identifier in (work.id, *work.same_as)}
    numbers.update(key_number("doi", doi) for doi in dois_of(work))
    anthology = acl_id(work.url) or acl_id(work.doi)
    if anthology:
        numbers.add(id_number(f"acl:{anthology}"))
    _, mark, forum = work.url.partition("openreview.net/forum?id=")
    if mark and forum:
        numbers.add(id_number(f"openreview:{forum.partition('&')[0]}"))
    return numbers


def identifier_numbers(identifier: Identifier) -> list[int]:
    """Numbers under which works with an identifier may be found."""
    if identifier.kind == "url":
        found: list[int | None] = [id_number(identifier.key)]
    elif identifier.kind in ("acl", "openreview"):
        found = [id_number(f"{identifier.kind}:{identifier.value}")]
    else:
        found = [doi_number(identifier.doi), arxiv_number(identifier.arxiv)]
    return [number for number in found if number is not None]


def work_keys(work: Work) -> set[int]:
    """Numbers of every key of the work."""
    found = identity_numbers(work)
    found.update(id_number(origin.source_id) for origin in work.provenance if origin.source_id)
    if work.url and (named := identifier_of(work.url)) is not None and named.kind == "url":
        found.add(id_number(address_key(work.url)))
    numbers = (
        *(arxiv_number(identifier) for identifier in arxiv_ids(work)),
        title_number(work.title),
        bibkey_number(work.bibkey) if work.bibkey else None,
    )
    found.update(number for number in numbers if number is not None)
    titles = (title_number(variant.title) for variant in work.variants if variant.title)
    found.update(number for number in titles if number is not None)
    return found
