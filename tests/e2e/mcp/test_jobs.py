"""Three jobs of an agent on real papers and a real library, over pipes, to the byte.

The agent is a script. It knows what the protocol tells it, and does what the server's instructions
say: it cites by id, never writes an entry, and leaves open what it cannot judge.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CITED = re.compile(r"\\(cite[pt]?)\{([^},\s]+)\}")
CITED_MD = re.compile(r"\[@([\w:.-]+)\]")
BERT = """@inproceedings{devlin-etal-2019-bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
"""


@pytest.fixture
def paper(shared_data: Path, tmp_path: Path) -> Callable[[str], Path]:
    """`paper("latex/NAME/main.tex")`: a copy of the paper's folder that may be written."""

    def copied(name: str) -> Path:
        source = shared_data / "projects" / name
        folder = tmp_path / "paper"
        shutil.copytree(source.parent, folder, dirs_exist_ok=True)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        return folder / source.name

    return copied


def bibs_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*.bib"))}


def record_titles(paper: Path, env: dict[str, str]) -> dict[str, str]:
    """Title of the library's record by the key that the paper cites it with."""
    from citewell.corpus.library import Library
    from citewell.documents.project.paper_project import Project
    from citewell.options import Options

    references = Project.open(paper, Options().documents).citing_paper().references
    titles = {}
    with Library.open(Path(env["CITEWELL_LIBRARY_PATH"]) / env["CITEWELL_LIBRARY_NAME"]) as held:
        for one in references:
            found = held.lookup(title=one.title) if one.title else []
            if found:
                titles[one.key] = found[0].title
    return titles


def words_of(title: str) -> str:
    return " ".join(re.sub(r"[^\w\s-]", "", title).split()[:8])


def with_placeholders(text: str, titles: dict[str, str], markdown: bool) -> str:
    """The text with each citation of a held work taken out: a few words of its title are left."""

    def replaced(match: re.Match[str]) -> str:
        title = titles.get(match[match.re.groups])
        if title is None:
            return match[0]
        return f"[@{words_of(title)}]" if markdown else f"\\{match[1]}<{words_of(title)}>"

    lines = text.splitlines(keepends=True)
    pattern = CITED_MD if markdown else CITED
    return "".join(
        line if line.lstrip().startswith("%") else pattern.sub(replaced, line) for line in lines
    )


async def fill(session: Any, structured: Any, name: str) -> dict[str, Any]:
    """Look first; for what stays open choose the paper whose title has the words; then write."""
    plan = await structured(session, "fill_document", path=name)
    choices = {}
    for place in plan["placeholders"]:
        if "key" in place:
            continue
        wanted = place["text"].strip("[@]>").rpartition("<")[2]
        more = await structured(session, "search_papers", query=wanted)
        fitting = [
            one["id"]
            for one in (*place["candidates"], *more["papers"])
            if words_of(one["title"]) == wanted
        ]
        if fitting:
            choices[str(place["n"])] = fitting[0]
    found: dict[str, Any] = await structured(
        session, "fill_document", path=name, choices=choices, write=True
    )
    return found


async def test_a_paragraph_is_cited_as_its_authors_cited_it(
    real_env: dict[str, str], client: Any, structured: Any, paper: Any
) -> None:
    """The citations of one paragraph are taken out; the paper's own .bib holds what belongs there."""
    main = paper("latex/blodstone__NAACL-HLT-2019-Hardy-/acl2019.tex")
    original, bibs = main.read_bytes(), bibs_of(main.parent)
    text = original.decode()
    paragraph = next(
        part for part in re.split(r"\n\s*\n", text)
        if [key for _, key in CITED.findall(part)] == ["See2017", "narayan18xsum"]
    )  # fmt: skip
    emptied = CITED.sub(lambda match: f"\\{match[1]}{{?}}", paragraph)
    main.write_bytes(text.replace(paragraph, emptied).encode())
    async with client(real_env, "--root", main.parent, "--allow-write") as session:
        found = await structured(session, "find_citations", text=emptied, path=main.name, k=20)
        chosen = [
            next(one["id"] for one in place["papers"] if one.get("key"))
            for place in found["places"]
        ]
        choices = {str(n): one for n, one in enumerate(chosen, 1)}
        done = await structured(
            session, "fill_document", path=main.name, choices=choices, write=True
        )
        assert done["written"]
        assert main.read_bytes() == original
        assert bibs_of(main.parent) == bibs

        # Another paper, that the author's .bib lacks, is one call away and is added behind the rest.
        beside = await structured(
            session, "related_papers", id=chosen[0], direction="cocited", k=50
        )
        assert beside["status"] == "found"
        known = await structured(session, "search_papers", query="BERT deep bidirectional", k=5)
        bert = next(one for one in known["papers"] if one["title"].startswith("BERT: Pre-training"))
        (bib,) = [path for path in bibs if path.name == "acl2019_bib.bib"]
        added = await structured(session, "add_entry", id=bert["id"], bib=bib.name, write=True)
        (held,) = (await structured(session, "get_papers", ids=[bert["id"]], format="bibtex"))[
            "papers"
        ]
    after = bib.read_bytes()
    assert after.startswith(bibs[bib].rstrip())
    entry = after[len(bibs[bib].rstrip()) :].decode().strip()
    assert entry.startswith("@inproceedings{" + added["key"] + ",")
    fields = dict(re.findall(r"^\s*(\w+) = \{(.*)\},?$", held["text"], flags=re.MULTILINE))
    written = dict(re.findall(r"^\s*(\w+)\s*=\s*[{\"](.*)[}\"],?$", entry, flags=re.MULTILINE))
    assert {"title", "author", "year", "pages"} <= set(written)
    assert {name: written[name] for name in fields if name in written} == {
        name: value for name, value in fields.items() if name in written
    }


@pytest.mark.parametrize(
    "name",
    [
        "latex/slanglab__qsb/emnlp/emnlp-ijcnlp-2019.tex",
        "markdown/x-tabdeveloping__turftopic/paper.md",
    ],
)
async def test_a_document_gets_its_citations_back(
    real_env: dict[str, str], client: Any, structured: Any, paper: Any, name: str
) -> None:
    main = paper(name)
    original, bibs = main.read_bytes(), bibs_of(main.parent)
    titles = record_titles(main, real_env)
    emptied = with_placeholders(original.decode(), titles, main.suffix == ".md")
    assert emptied.encode() != original
    main.write_bytes(emptied.encode())
    async with client(real_env, "--root", main.parent, "--allow-write") as session:
        done = await fill(session, structured, main.name)
    assert done["written"] and len(done["placeholders"]) >= 10
    assert main.read_bytes() == original
    assert bibs_of(main.parent) == bibs


async def test_two_agents_fill_one_document_at_once(
    real_env: dict[str, str], client: Any, structured: Any, paper: Any
) -> None:
    """Each has a server of its own; whoever is second finds nothing left to do."""
    main = paper("markdown/x-tabdeveloping__turftopic/paper.md")
    original, bibs = main.read_bytes(), bibs_of(main.parent)
    titles = record_titles(main, real_env)
    main.write_bytes(with_placeholders(original.decode(), titles, True).encode())

    async def work(session: Any) -> None:
        await fill(session, structured, main.name)

    arguments = (real_env, "--root", main.parent, "--allow-write")
    async with client(*arguments) as one, client(*arguments) as other:
        results = await asyncio.gather(work(one), work(other), return_exceptions=True)
        # The plan of the second may speak of numbers that are gone by then: it is told so.
        for failed in (one for one in results if isinstance(one, BaseException)):
            assert "[placeholder-unknown]" in str(failed)
    assert main.read_bytes() == original
    assert bibs_of(main.parent) == bibs


async def test_a_bibliography_with_planted_fabrications_is_audited(
    real_env: dict[str, str], client: Any, structured: Any, paper: Any, shared_data: Path
) -> None:
    main = paper("latex/blodstone__NAACL-HLT-2019-Hardy-/acl2019.tex")
    bib = main.with_name("acl2019_bib.bib")
    planted = fabrications(shared_data)
    assert len(planted) > 50
    audited = main.parent / "audited.bib"
    audited.write_text(bib.read_text(encoding="utf-8") + "\n" + "\n".join(planted.values()))
    before = audited.read_bytes()
    async with client(real_env, "--root", main.parent) as session:
        lines: list[str] = []
        arguments: dict[str, Any] = {"path": audited.name, "verified_too": True}
        while True:
            report = await structured(session, "check_references", **arguments, max_tokens=3000)
            lines += [f"{one['key']} {one['verdict']}\n" for one in report["references"]]
            if "next_cursor" not in report:
                break
            arguments = {"cursor": report["next_cursor"], "verified_too": True}
        whole = json.loads((await session.read_resource(report["report"])).contents[0].text)
    assert audited.read_bytes() == before
    report_verdicts = [f"{one['claim']['key']} {one['verdict']}\n" for one in whole["checks"]]
    assert sorted(report_verdicts) == sorted(lines)
    # Another front end, in another process, comes to the same report, byte for byte.
    check = [sys.executable, "-m", "citewell", "check", "--format", "json", str(audited)]
    run = subprocess.run(check, env=real_env, capture_output=True, check=False, timeout=300)
    checks = json.loads(run.stdout)["checks"]
    expected = "".join(sorted(f"{one['claim']['key']} {one['verdict']}\n" for one in checks))
    assert "".join(sorted(lines)).encode() == expected.encode()
    verdicts = dict(line.split() for line in lines)
    of_planted = [verdicts.pop(key) for key in planted]
    assert "verified" not in of_planted and "unchecked" not in of_planted
    assert "fabricated" in of_planted
    genuine = list(verdicts.values())
    assert genuine.count("fabricated") <= 1 and genuine.count("verified") >= 40


WRITTEN = re.compile(r"(?P<authors>[^.]{5,200})\. (?P<title>[^.]{15,250})\. .*?(?P<year>20\d\d)")


def fabrications(shared_data: Path) -> dict[str, str]:
    """Entries that language models made up, each under a key of its own."""
    path = shared_data / "references" / "references_dev.jsonl.gz"
    found = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, record in enumerate(map(json.loads, lines)):
            if record["label"] != "fabricated":
                continue
            fields, kind = record.get("fields"), record.get("bibtex_type", "misc")
            if fields is None and (written := WRITTEN.match(record.get("text", ""))):
                names = re.split(r",? and |, ", written["authors"])
                fields = {"author": " and ".join(names), "title": written["title"],
                          "year": written["year"]}  # fmt: skip
            if fields is not None:
                key = f"planted{number}"
                body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
                found[key] = f"@{kind}{{{key},\n{body}}}\n"
    return found
