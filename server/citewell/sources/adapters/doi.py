"""The DOI system itself: doi.org, queried for the record instead of the page.

The answer comes from the agency that registered the DOI (Crossref, DataCite, mEDRA ...). It alone
can say that a DOI does not exist. https://citation.crosscite.org/docs.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from citewell.model import Work
from citewell.model.identifiers import normalise_doi
from citewell.sources.contract import Answer, Ask, Source, SourcePolicy, json_object, records
from citewell.sources.values import work_of_csl

CSL = "application/vnd.citationstyles.csl+json"


class DoiOrg(Source):
    """Records by DOI from whichever agency registered it."""

    name = "doi"
    title = "doi.org"
    gives = "whether a DOI exists at all, and its record from whichever agency registered it"
    sends = "DOIs"
    policy = SourcePolicy(
        base="https://doi.org",
        hosts=(
            "doi.org", "dx.doi.org", "www.doi.org", "api.crossref.org", "data.crossref.org",
            "data.crosscite.org", "data.datacite.org", "api.datacite.org", "data.medra.org",
            "www.medra.org",
        ),
        per_second=4.0,
        at_once=2,
    )  # fmt: skip
    ids = frozenset({"doi"})

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        doi = values[0]
        ask = Ask(path=f"/{quote(doi, safe='/')}", accept=CSL, absent=True)
        return [await self.works(ask, lambda body: decode_csl(body, doi))]


def decode_csl(body: bytes, doi: str) -> list[Work]:
    """The record of a CSL item if it has the requested DOI, or none."""
    return records([json_object(body)], lambda item, day: _work(item, doi, day))


def _work(item: dict[str, Any], doi: str, day: str) -> Work | str:
    plain = {
        name: value[0] if isinstance(value, list) and name in _LISTS and value else value
        for name, value in item.items()
    }
    work = work_of_csl({**plain, "id": doi}, "doi", "doi", day)
    if isinstance(work, str):
        return work
    named = normalise_doi(str(item.get("DOI") or "")) or doi
    identifier = f"doi:{named}"
    return msgspec.structs.replace(
        work,
        id=identifier,
        doi=named,
        same_as=tuple(dict.fromkeys((identifier, f"doi:{doi}"))),
        bibkey="",
        url=f"https://doi.org/{named}",
    )


_LISTS = frozenset({"title", "container-title", "container-title-short", "event-title"})
"""Fields that are lists in Crossref's own JSON."""
