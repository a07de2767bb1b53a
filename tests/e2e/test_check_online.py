"""`check --online` with the real answers of sources, served by the fake, and with every fault."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from citewell.engine.online import Online
from citewell.model import Author, Work
from citewell.model.check import Check, Claim, Verdict
from citewell.options import Options
from citewell.options.online import SourceOptions
from citewell.sources import values
from citewell.sources.adapters.crossref import work_of_crossref
from citewell.sources.adapters.dblp import work_of_hit
from citewell.sources.adapters.semantic_scholar import work_of_paper
from citewell.sources.registry import SOURCES, source_named
from citewell.sources.values import work_of_openalex
from citewell.verification.checker import Checker
from citewell.verification.identify import MemoryRecords
from citewell.verification.online import OnlineChecker

MAKERS = {
    "crossref": work_of_crossref,
    "openalex": work_of_openalex,
    "dblp": work_of_hit,
    "semantic-scholar": work_of_paper,
}
EACH = 16
"""References of each source's recordings that are checked."""
FAULTS: dict[str, dict[str, Any]] = {
    "429": {"status": 429},
    "429 and a long wait": {"status": 429, "headers": {"retry-after": "600"}},
    "403": {"status": 403},
    "no answer": {"kind": "hang"},
    "broken off": {"kind": "truncated"},
    "another shape": {"kind": "shape"},
    "redirect to a stranger": {"kind": "foreign-redirect"},
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paces have tests of their own (tests/contract/test_sources.py)."""
    for name in SOURCES:
        kind = source_named(name)
        changed = msgspec.structs.replace(
            kind.policy, per_second=2000.0, per_second_with_key=2000.0, at_once=8
        )
        monkeypatch.setattr(kind, "policy", changed)


def online_of(url: str, *names: str, seconds: float = 10.0) -> Online:
    own = SourceOptions(allow=names or ("all",), base_url=url, timeout_s=seconds, cache_days=0.0)
    return Online(Options(sources=own))


def check_all(online: Online, claims: list[Claim]) -> list[Check]:
    checker = Checker([MemoryRecords((), name="")])
    try:
        return OnlineChecker(checker, online.within(None)).check(claims)
    finally:
        online.close()


def claim_of(work: Work, **changes: Any) -> Claim:
    """A reference that says what the record says."""
    facts: dict[str, Any] = {
        "key": work.id,
        "kind": work.kind,
        "title": work.title,
        "authors": work.authors,
        "year": work.year,
        "venue": work.booktitle or work.journal,
        "doi": work.doi,
        "arxiv": work.arxiv if not work.doi else "",
    }
    return Claim(**{**facts, **changes})


@pytest.fixture(scope="module")
def recorded(shared_data: Path, fakes: Any) -> Iterator[tuple[Any, list[Work]]]:
    """The fake with all recorded records, and some of their works."""
    folder = shared_data / "api"
    if not folder.is_dir():
        pytest.skip("the recorded answers ../shared/data/api are not there")
    records: dict[str, list[dict[str, Any]]] = {}
    works: list[Work] = []
    for name, make in MAKERS.items():
        path = folder / f"{name.replace('-', '_')}_records.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            records[name] = [json.loads(line) for line in stream]
        made = (make(record, values.today()) for record in records[name])
        sound = (
            work
            for work in made
            if isinstance(work, Work) and len(work.title) > 30 and len(work.authors) > 1
        )
        works += itertools.islice(sound, 0, EACH * 4, 4)
    # Another source's records may name the same DOI: doi.org and Crossref then know them too.
    with fakes.FakeSources(records) as fake:
        yield fake, works


def test_references_of_real_records_are_verified_and_none_is_accused(
    recorded: tuple[Any, list[Work]], quick: None
) -> None:
    fake, works = recorded
    names = ("crossref", "openalex", "dblp", "semantic-scholar")
    checks = check_all(online_of(fake.url, *names), [claim_of(work) for work in works])
    verdicts = Counter(check.verdict for check in checks)
    accused = [
        (check.claim.title, [one.message for one in check.findings])
        for check in checks
        if check.verdict is Verdict.FABRICATED
    ]
    assert not accused
    assert verdicts[Verdict.VERIFIED] >= 0.95 * len(works), verdicts
    assert verdicts[Verdict.UNCHECKED] == 0


def test_references_of_real_records_with_other_people_s_names_are_not_verified(
    recorded: tuple[Any, list[Work]], quick: None
) -> None:
    fake, works = recorded
    strangers = (Author("Zzyzx", "Quentin"), Author("Qwertyson", "Uma"), Author("Asdfberg", "Ian"))
    claims = [claim_of(work, authors=strangers) for work in works]
    names = ("crossref", "openalex", "dblp", "semantic-scholar")
    checks = check_all(online_of(fake.url, *names), claims)
    assert not [check for check in checks if check.verdict is Verdict.VERIFIED and check.claim.doi]
    for check in checks:
        if check.verdict is Verdict.FABRICATED:
            assert len(check.sources) >= 2


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_goes_wrong_everything_is_unchecked_and_nobody_accused(
    fault: str, fake_sources: Any, fakes: Any, quick: None
) -> None:
    for name in SOURCES:
        fake_sources.fail(name, fakes.Fault(**FAULTS[fault]))
    claims = [
        Claim(title="A Title That Nobody Knows at All", authors=(Author("Nobody"),), year=2020),
        Claim(title="Another Title That Is Not Known", doi="10.1162/neco.1997.9.8.1735", year=2020),
        Claim(title="On the Patience of Kettles", authors=(Author("Wang", "Jun"),), year=2020),
    ]
    checks = check_all(online_of(fake_sources.url, seconds=0.2), claims)
    assert [check.verdict for check in checks] == [Verdict.UNCHECKED] * 3
    assert all(check.evidence[0].startswith("Not every source answered") for check in checks)
    assert not any(check.findings for check in checks)


def test_one_source_that_fails_costs_only_its_own_answers(
    fake_sources: Any, fakes: Any, quick: None
) -> None:
    fake_sources.fail("crossref", fakes.Fault(status=500))
    known = Claim(
        title="On the Patience of Kettles",
        authors=(Author("Wang", "Jun"), Author("Example", "Ada")),
        year=2020,
    )
    unknown = Claim(title="A Title That Nobody Knows at All", authors=(Author("Nobody"),))
    checks = check_all(online_of(fake_sources.url), [known, unknown])
    assert [check.verdict for check in checks] == [Verdict.VERIFIED, Verdict.UNCHECKED]
    assert "Crossref" in checks[1].evidence[0]


BIB = """@inproceedings{devlin, year = 2019, booktitle = {NAACL}, doi = {10.18653/v1/N19-1423},
  title = {BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Jacob Devlin and Ming-Wei Chang and Kenton Lee and Kristina Toutanova}}
@article{gone, title = {Cold Fusion of Teapots at Room Temperature}, year = 2011,
  author = {Ada Example and Grace Sample}, journal = {Journal of Kitchen Physics},
  doi = {10.5555/teapot.2011.7}}
@article{invented, title = {On the Gravity of Saucers in Deep Networks}, year = 2019,
  author = {Nora Nobody}, journal = {Spoons}, doi = {10.1371/notarealdoi}}
"""


def environment_of(folder: Path, url: str) -> dict[str, str]:
    (folder / "config.toml").touch()
    return os.environ | {
        "CITEWELL_CONFIG": str(folder / "config.toml"),
        "CITEWELL_DATA": str(folder / "history"),
        "CITEWELL_CACHE": str(folder / "cache"),
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
        "CITEWELL_SOURCES_BASE_URL": url,
        "PYTHONUTF8": "1",
    }


def citewell(
    folder: Path, url: str, *arguments: str, timeout: float = 180
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "citewell", *arguments],
        capture_output=True, text=True, encoding="utf-8", env=environment_of(folder, url),
        cwd=folder, timeout=timeout, check=False,
    )  # fmt: skip


def test_a_new_user_allows_sources_and_checks_a_bibliography(
    tmp_path: Path, fake_sources: Any
) -> None:
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    url = fake_sources.url
    refused = citewell(tmp_path, url, "check", "refs.bib", "--online")
    assert refused.returncode == 2 and "citewell sources allow" in refused.stderr
    assert not fake_sources.log
    allowed = citewell(tmp_path, url, "sources", "allow", "crossref", "openalex", "datacite", "doi")
    assert allowed.returncode == 0 and "api.crossref.org" in allowed.stdout
    assert not fake_sources.log
    done = citewell(tmp_path, url, "check", "refs.bib", "--online", "--format", "json")
    assert done.returncode == 1, done.stderr
    checks = json.loads(done.stdout)["checks"]
    found = {one["claim"]["key"]: one["verdict"] for one in checks}
    assert found == {"devlin": "verified", "gone": "wrong-detail", "invented": "fabricated"}
    requests_before = len(fake_sources.log)
    again = citewell(tmp_path, url, "check", "refs.bib", "--online")
    assert "https://doi.org/10.5555/teapot.2013.1" in again.stdout
    # What was absent is asked about again, what was answered is not.
    assert requests_before < len(fake_sources.log) < 2 * requests_before
    found_online = citewell(tmp_path, url, "find", "--online", "cold fusion of teapots")
    assert "retracted" in found_online.stdout and "found by Crossref" in found_online.stdout
    doctor = citewell(tmp_path, url, "doctor", "--online", "--json")
    assert all("it answers" in text for text in json.loads(doctor.stdout)["sources"].values())
    fake_sources.log.clear()
    citewell(tmp_path, url, "sources", "forbid")
    assert citewell(tmp_path, url, "check", "refs.bib", "--online").returncode == 2
    assert not fake_sources.log


GIVEN_UP = 50
"""Seconds after which clients give up; a process that takes longer is killed, and the test fails."""


def lone(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB.partition("@article{gone")[0], encoding="utf-8")


def test_one_source_that_hangs_ends_no_check_too_late_on_the_command_line(
    tmp_path: Path, fake_sources: Any, fakes: Any
) -> None:
    lone(tmp_path)
    citewell(tmp_path, fake_sources.url, "sources", "allow", "crossref", "openalex", "datacite")
    fake_sources.fail("openalex", fakes.Fault(kind="hang"))
    done = citewell(
        tmp_path, fake_sources.url, "check", "refs.bib", "--online", "--format", "json",
        timeout=GIVEN_UP,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (check,) = json.loads(done.stdout)["checks"]
    assert check["verdict"] == "verified", "by what the other sources said"
    assert "OpenAlex" in done.stderr and "check again" in done.stderr.lower()


def test_every_source_that_hangs_leaves_a_reference_unchecked_in_time(
    tmp_path: Path, fake_sources: Any, fakes: Any
) -> None:
    lone(tmp_path)
    citewell(tmp_path, fake_sources.url, "sources", "allow", "crossref", "openalex", "doi")
    for name in ("crossref", "openalex", "doi"):
        fake_sources.fail(name, fakes.Fault(kind="hang"))
    done = citewell(
        tmp_path, fake_sources.url, "check", "refs.bib", "--online", "--format", "json",
        timeout=GIVEN_UP,
    )  # fmt: skip
    (check,) = json.loads(done.stdout)["checks"]
    assert check["verdict"] == "unchecked"
    assert "check again" in done.stderr.lower()


async def test_one_source_that_hangs_ends_no_check_too_late_over_mcp(
    tmp_path: Path, fake_sources: Any, fakes: Any
) -> None:
    mcp = pytest.importorskip("mcp.client")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    lone(tmp_path)
    citewell(tmp_path, fake_sources.url, "sources", "allow", "crossref", "openalex", "datacite")
    fake_sources.fail("openalex", fakes.Fault(kind="hang"))
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "citewell", "mcp", "--root", str(tmp_path)],
        env=environment_of(tmp_path, fake_sources.url),
    )
    progress_reports: list[tuple[float, str]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        progress_reports.append((done, message or ""))

    async with mcp.Client(stdio_client(server)) as session:
        found = await session.call_tool(
            "check_references",
            {"path": "refs.bib", "online": True, "verified_too": True},
            read_timeout_seconds=GIVEN_UP,
            progress_callback=progress,
        )
    assert not found.is_error, found.content
    report = found.structured_content
    assert [one["verdict"] for one in report["references"]] == ["verified"]
    assert "check-incomplete" in report["notes"] or "OpenAlex" in report["notes"]
    assert any("waiting for sources" in message for _, message in progress_reports)
    assert [done for done, _ in progress_reports] == sorted(done for done, _ in progress_reports)


def test_an_identifier_is_asked_for_as_one_and_never_searched_for(
    tmp_path: Path, fake_sources: Any
) -> None:
    url = fake_sources.url
    citewell(tmp_path, url, "sources", "allow", "crossref", "openalex", "datacite")
    for name in ("10.5555/teapot.2011.7", "https://doi.org/10.5555/TEAPOT.2011.7"):
        found = citewell(tmp_path, url, "find", "--online", "--json", name)
        assert found.returncode == 0, found.stderr
        (hit,) = json.loads(found.stdout)["hits"]
        assert hit["work"]["doi"] == "10.5555/teapot.2011.7"
        assert {"identifier", "crossref"} <= {one["retriever"] for one in hit["evidence"]}
    absent = citewell(tmp_path, url, "find", "--online", "--json", "10.5555/teapot.1999.9")
    result = json.loads(absent.stdout)
    assert result["hits"] == [] and absent.returncode in (1, 2)
    requests_before = len(fake_sources.log)
    assert requests_before and not any(
        "search" in one.target or "query" in one.target for one in fake_sources.log
    )
    page = citewell(tmp_path, url, "find", "--online", "https://example.org/teapot")
    assert page.returncode in (1, 2) and len(fake_sources.log) == requests_before, (
        "nobody knows addresses"
    )


BOOK = """@book{cover2006,
  title = {Elements of Information Theory},
  author = {Cover, Thomas M. and Thomas, Joy A.},
  publisher = {Wiley},
  year = {1991},
  isbn = {0-471-06259-6},
}

@book{kettles,
  title = {Kettles and Manifolds: An Introduction},
  author = {Sample, Bo},
  year = {1999},
}

@article{frontier,
  title = {The noise of kettles at the high-energy frontier},
  author = {{KETTLE Collaboration}},
  journal = {Phys. Lett. B},
  year = {2012},
  eprint = {1207.7000},
  archiveprefix = {arXiv},
}

@article{remedy,
  title = {A remedy for the noise of kettles},
  author = {Example, Ada and {Kettle Study Group}},
  journal = {Journal of Kitchen Medicine},
  year = {2011},
  doi = {10.1000/kettles.noise},
}
"""


def test_books_and_other_fields_are_known_to_their_own_sources(
    tmp_path: Path, fake_sources: Any
) -> None:
    url = fake_sources.url
    (tmp_path / "refs.bib").write_text(BOOK, encoding="utf-8")
    citewell(tmp_path, url, "sources", "allow", "open-library", "zbmath", "inspire", "europe-pmc")
    done = citewell(tmp_path, url, "check", "refs.bib", "--online", "--format", "json")
    checks = {one["claim"]["key"]: one for one in json.loads(done.stdout)["checks"]}
    assert {key: one["verdict"] for key, one in checks.items()} == {
        "cover2006": "verified", "kettles": "verified", "frontier": "verified",
        "remedy": "wrong-detail",
    }  # fmt: skip
    assert checks["remedy"]["findings"][0]["code"] == "retracted"
    names = [dict(one.params).get("bibkeys") for one in fake_sources.of("open-library")]
    assert "ISBN:9780471062592" in names
