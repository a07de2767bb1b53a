"""A library that lacks papers accuses nobody of citing them.

Records of the ACL Anthology are taken out at random; references to all of them are checked. What
the whole library verifies, the library with gaps may miss, and never call wrong.
"""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
import zstandard

from citewell.corpus.library import Library
from citewell.documents.bib.reader import parse_bib
from citewell.engine.records import LibraryRecords
from citewell.model.check import Check, Claim, Verdict
from citewell.options import Options
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

ACL = Path(__file__).resolve().parents[3] / "shared" / "data" / "corpus" / "acl.jsonl.zst"
YEARS = range(2017, 2020)
VENUES = {"ACL", "EMNLP", "NAACL", "CoNLL", "COLING"}

pytestmark = pytest.mark.skipif(not ACL.exists(), reason=f"needs {ACL}")


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    """The main meetings of three years, about 5,000 records."""
    with ACL.open("rb") as raw:
        lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(raw), "utf-8")
        return [
            record
            for line in lines
            if (record := json.loads(line)).get("year") in YEARS and record["venue"] in VENUES
        ]


def checked(records: list[dict[str, Any]], folder: Path, claims: list[Claim]) -> list[Check]:
    """What a library of these records says of the claims."""
    folder.mkdir()
    source = folder / "records.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    build_library(
        folder / "library", add=[source_at(str(source))], builders=default_builders(Options())
    )
    with Library.open(folder / "library") as library:
        return Checker([LibraryRecords(library)]).check(claims)


def claims_to(records: list[dict[str, Any]]) -> list[Claim]:
    """A reference to each record, as an author writes it: the venue by its acronym."""
    entries = (
        f"@inproceedings{{k{n}, title={{{record['title']}}}, year={{{record['year']}}},\n"
        f"  author={{{' and '.join(record['authors'])}}}, booktitle={{{record['venue']}}}}}\n"
        for n, record in enumerate(records)
    )
    return claims_of_bib(parse_bib("".join(entries), "refs.bib"))


def test_what_is_taken_out_at_random_is_never_an_accusation(
    records: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert len(records) > 3000
    chosen = random.Random(7).sample(records, 1500)
    claims = claims_to(chosen)
    whole = checked(records, tmp_path / "whole", claims)
    verified = {n for n, check in enumerate(whole) if check.verdict is Verdict.VERIFIED}
    assert len(verified) > 1400
    for seed in (1, 2):
        kept = random.Random(seed).sample(records, int(0.8 * len(records)))
        gaps = checked(kept, tmp_path / f"gaps{seed}", claims)
        lost = [n for n in verified if gaps[n].verdict is not Verdict.VERIFIED]
        assert len(lost) > 200  # the gaps are met
        accused = [gaps[n] for n in verified
                   if gaps[n].verdict in (Verdict.WRONG_DETAIL, Verdict.FABRICATED)]  # fmt: skip
        assert not accused, [(one.claim.title, one.evidence) for one in accused]


def test_what_the_whole_proceedings_lack_is_still_told(
    records: list[dict[str, Any]], tmp_path: Path
) -> None:
    entry = (
        "@inproceedings{k, title={A Grammar of Rivers for Silent Beavers and Their Dams},\n"
        "  author={Zoe Zinnia and Yan Yew}, booktitle={EMNLP}, year={2018}}"
    )
    (check,) = checked(records, tmp_path / "whole", claims_of_bib(parse_bib(entry, "refs.bib")))
    assert [finding.code for finding in check.findings] == ["venue-lacks"]
