"""The starter library: made by one command, found where it is installed, never written to."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.corpus.library import Library
from citewell.retrieval.encoders.registry import load_encoder
from citewell_corpus.starter_data.make import files_digest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
PAPERS = (FIXTURES / "papers.jsonl", FIXTURES / "more_papers.jsonl")
DISTRIBUTION = ROOT / "corpus_tools" / "starter" / "citewell_starter"
ENTRY = """@{kind}{{key, title = {{Billions of Elms: A Search}}, author = {{Larch, Ada and Fir, Bo}},
  year = {year}, {more}}}"""
WANTED = "Billions of Elms: A Search"
SAMPLES = (
    ("Can a machine frobnicate?", "FirstName Alpher and FirstName Fotheringham-Smythe"),
    ("The frobnicatable foo filter", "FirstName LastName"),
    ("Article Title", "F. Author and S. Author"),
    ("Title of a proceedings paper", "Ann Oak"),
    ("The title of book one", "Ian Editor"),
    ("Title of paper with only first word capitalized", "R. Nicole"),
    ("The Gnats and Gnus Document Preparation System", "Leslie A. Aamport"),
    ("The Programming of Computer Art", "Jill C. Knvth"),
    ("A title of somebody", "A. U. Thor"),
    ("A title of another body", "A. N. Other"),
    ("A title of nobody", "Anonymous"),
    ("A title of anybody", "Anon."),
    ("A title of whomever", "Unknown"),
    ("A title without a name", ""),
    ("Suppressed for Anonymity", "N. N. Author"),
    ("Technical report", "Ann Oak"),
    ("Draft", "Ann Oak"),
    ("to be published", "Ann Oak"),
    ("In press", "Ann Oak"),
    ("Submitted to the Journal of Oaks", "Ann Oak"),
    ("Accessed: 2021-03-04", "Ann Oak"),
    ("Last accessed on 4 March 2021", "Ann Oak"),
    ("https://www.example.org/oaks", "Ann Oak"),
    ("Personal communication", "Ann Oak"),
    ("Your title here", "Ann Oak"),
    ("Ph.D. Thesis", "Ann Oak"),
    (": The Program", "Ann Oak"),
    ("The M??ller-Oak method", "Ann Oak"),
)
"""Titles and authors of the samples of templates, and of what people enter that is no work."""
PLAIN = (
    ("Accessed memories of oaks", "Ann Oak"),
    ("HTTP for oaks", "Ann Oak"),
    ("Unpublished oaks", "Ann Oak"),
    ("A technical report on oaks", "Ann Oak"),
    ("Titles of oaks", "Andreas Thor"),
)
"""Works that resemble them."""


def citations(path: Path, *entries: tuple[str, str]) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        for repository, entry in entries:
            record = {"source_repo": repository, "gold_title": WANTED, "bib_entry_raw": entry}
            stream.write(json.dumps(record) + "\n")
    return path


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    new = {
        "id": "x:new",
        "title": "A paper of next year",
        "year": 2026,
        "source": "x",
        "kind": "misc",
    }
    quiet = {
        **{"id": "x:quiet", "title": "A quiet method", "year": 2020, "source": "x", "kind": "misc"},
        "abstract": "We measure how lamplight changes the photosynthesis of seaweed and of seaweed larvae. "
        "Seaweed prefers lamplight.",
    }
    other = {
        **{"id": "x:other", "title": "A loud method", "year": 2020, "source": "x", "kind": "misc"},
        "abstract": "Pianos are tuned by ear. Neither lamplight nor photosynthesis nor seaweed matters for "
        "the tuning of pianos, and piano tuners tune pianos.",
    }
    lines = [json.dumps(new), json.dumps(quiet), json.dumps(other), *map(json.dumps, LISTED)]
    (folder / "new.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    agreed = {
        "title": "A book of oaks",
        "authors": [["Oak", "Ann", ""]],
        "year": 1999,
        "kind": "book",
    }
    later = {**agreed, "title": "A book of next year", "year": 2026}
    people = [{"title": title, "authors": [[*name.rsplit(" ", 1)[::-1], ""] if " " in name
                                           else [name, "", ""] for name in names.split(" and ")
                                           if name], "year": 2001, "kind": "article",
               "journal": "Oaks"} for title, names in (*SAMPLES, *PLAIN)]  # fmt: skip
    lines = [json.dumps(agreed), json.dumps(later), *map(json.dumps, people)]
    lines += map(json.dumps, CITED)
    (folder / "agreed.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "wanted.tsv").write_text(
        f"citing papers\tyear\ttitle\n9\t2019\t{WANTED}\n8\t2019\tNobody agrees on this\n",
        encoding="utf-8",
    )
    lines = list(map(json.dumps, VERSIONS))
    (folder / "versions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    citations(
        folder / "citations.jsonl.gz",
        ("a/one", ENTRY.format(kind="misc", year=2018, more="")),
        (
            "b/two",
            ENTRY.format(kind="article", year=2019, more="journal = {Trees}, doi = {10.1000/e}"),
        ),
        ("c/three", ENTRY.format(kind="article", year=1950, more="")),
    )
    return folder


def listed(mark: str, title: str, year: int, *authors: str, **more: Any) -> dict[str, Any]:
    """A record of a curated list."""
    return {"id": f"mla:{mark}", "title": title, "authors": authors, "year": year,
            "kind": "inproceedings", "source": "mlanthology:x", **more}  # fmt: skip


NETS = ("Ash, Ann", "Birch, Bo", "Cedar, Cy")
"""Who wrote several papers."""
LISTED = [
    listed("nets", "Contested Elm Nets", 2014, "Ann Ash", "Bo Birch", "Cy Cedar",
           venue="neurips"),
    listed("latent", "Latent Allocation of Elms", 2001, "Ann Ash", "Bo Birch", venue="neurips"),
    listed("norm", "Normalised cuts of elms", 1997, "Ann Ash", "Bo Birch", venue="cvpr"),
    listed("bagged", "Bagged elms and their predictors", 1996, "Ann Ash", kind="article",
           journal="Machine Learning"),
    listed("iros", "Robots that climb elms", 2011, "Ann Ash", "Bo Birch", venue="iros"),
    listed("part1", "Elms in motion: Part I", 2012, "Ann Ash", "Bo Birch", venue="iros"),
    {**listed("part2", "Elms in motion: Part II", 2012, "Ann Ash", "Bo Birch", venue="iros"),
     "source": "conference-lists"},
    {**listed("iros2", "Robots that climb the elm", 2011, "Ann Ash", "Bo Birch", venue="IROS"),
     "id": "conf:iros2", "source": "conference-lists"},
    {**listed("other", "Robots that climb elms", 2012, "Dan Dogwood", venue="ICRA"),
     "id": "conf:other", "source": "conference-lists"},
    listed("small", "Names of elms in small letters", 2020, "yelong larch", "BO DE FIR",
           "m. c. schraefel", "Ondrej ALDER", "Cy Cedar", venue="icml"),
    listed("usual", "Names of elms in usual letters", 2021, "Yelong Larch", venue="icml"),
]  # fmt: skip
CITED = [
    {"title": "Contested elm networks", "year": 2014, "kind": "article",
     "authors": [[*name.split(", "), ""] for name in NETS]},
]  # fmt: skip
VERSIONS = [
    {"title": "Latent Allocation of Elms", "authors_raw": "Ash, Ann and Birch, Bo", "year": 2003,
     "kind": "article", "journal": "Journal of Machine Learning Research", "volume": "3",
     "pages": "993--1022", "agree": 9},
    {"title": "Normalised cuts of elms", "authors_raw": "A. Ash and B. Birch", "year": 2000,
     "kind": "article", "journal": "International Journal of Computer Vision", "agree": 2},
    {"title": "Bagged elms and their predictors", "authors_raw": "Ann Ash", "year": 1994,
     "kind": "article", "journal": "Machine Learning", "volume": "24", "pages": "123--140"},
    {"title": "Robots that climb elms", "authors_raw": "Eve Elder", "year": 2016, "kind": "book",
     "publisher": "Elm Press"},
]  # fmt: skip


def make(inputs: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [
        *(sys.executable, "-m", "citewell_corpus", "starter", *map(str, PAPERS)),
        *(str(inputs / "new.jsonl"), "--agreed", str(inputs / "agreed.jsonl")),
        *("--wanted", str(inputs / "wanted.tsv")),
        *("--citations", str(inputs / "citations.jsonl.gz"), "--out", str(out)),
        *("--versions", str(inputs / "versions.jsonl")),
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def site(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of installed packages, with the distribution in it, that nobody may write to."""
    folder = tmp_path_factory.mktemp("site")
    package = folder / "citewell_starter"
    package.mkdir()
    shutil.copy(DISTRIBUTION / "__init__.py", package)
    make(inputs, package / "library")
    for path in package.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in package.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def environment(folder: Path, site: Path) -> dict[str, str]:
    (folder / "config.toml").touch()
    return {name: value for name, value in os.environ.items() if "CITEWELL" not in name} | {
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
        "CITEWELL_CONFIG": str(folder / "config.toml"),
        "PYTHONPATH": str(site),
        "PYTHONIOENCODING": "utf-8",
    }


def run(folder: Path, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "citewell", *arguments],
        cwd=folder,
        env=environment(folder, site),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_the_same_records_give_the_same_bytes(inputs: Path, site: Path, tmp_path: Path) -> None:
    make(inputs, tmp_path / "library")
    first = site / "citewell_starter" / "library"
    names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(names) > 40
    for name in names:
        assert (tmp_path / "library" / name).read_bytes() == (first / name).read_bytes(), name
    card = (tmp_path / "CARD.md").read_bytes()
    assert card == (first.parent / "CARD.md").read_bytes()
    shown = "find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum"
    assert shown in card.decode()
    if shutil.which("sha256sum"):
        printed = subprocess.check_output(shown, shell=True, cwd=first, text=True)
        assert f"`{printed.split()[0]}`" in card.decode()


def test_the_starter_that_ships_is_whole_and_the_one_of_its_card() -> None:
    folder = DISTRIBUTION / "library"
    with Library.open(folder) as library:
        assert library.verify() == []
        assert len(library) > 400_000
        encoder = load_encoder("citation")
        assert library.manifest.indexes["dense"]["weights"] == encoder.fingerprint
    sizes = [path.stat().st_size for path in DISTRIBUTION.rglob("*") if path.is_file()]
    assert sum(sizes) < 76_000_000
    assert max(sizes) < 45_000_000
    card = (DISTRIBUTION / "CARD.md").read_text(encoding="utf-8")
    assert f"`{files_digest(folder)}`" in card and "| NeurIPS |" in card


ROBOTICS = "Respectful cameras: detecting visual markers in real-time to address privacy concerns"
STATISTICS = (
    "Controlling the false discovery rate: a practical and powerful approach to multiple testing"
)


def test_the_starter_that_ships_holds_works_once_and_as_they_are_cited() -> None:
    with Library.open(DISTRIBUTION / "library") as library:
        held = {title: library.lookup(title=title) for title in (
            "Generative Adversarial Nets", "Generative Adversarial Networks",
            "Latent Dirichlet Allocation", "Normalized cuts and image segmentation",
            "A Neural Probabilistic Language Model", "Robust real-time face detection",
            "Can a machine frobnicate?", "Article Title", "Suppressed for Anonymity",
            "LoRA: Low-Rank Adaptation of Large Language Models", ROBOTICS,
            STATISTICS,
        )}  # fmt: skip
    assert held[ROBOTICS] and held[STATISTICS]
    assert held["Generative Adversarial Nets"] == held["Generative Adversarial Networks"]
    for title, year, journal in (
        ("Latent Dirichlet Allocation", 2003, "Journal of Machine Learning Research"),
        ("A Neural Probabilistic Language Model", 2003, "Journal of Machine Learning Research"),
        ("Normalized cuts and image segmentation", 2000, "Pattern Analysis"),
        ("Robust real-time face detection", 2004, "International Journal of Computer Vision"),
    ):
        (work,) = held[title]
        assert work.year == year and journal in work.journal, work
        assert work.variants, work
    for title in ("Can a machine frobnicate?", "Article Title", "Suppressed for Anonymity"):
        assert not held[title], title
    for work in held["LoRA: Low-Rank Adaptation of Large Language Models"]:
        assert not any(author.display.islower() for author in work.authors), work.authors


def test_the_starter_that_ships_opens_at_once(tmp_path: Path) -> None:
    """In processor time, which other tests on the machine do not lengthen."""
    code = (
        "import time; from pathlib import Path; from citewell.corpus.library import Library; import sys\n"
        "begin = time.process_time(); Library.open(Path(sys.argv[1]))\n"
        "print(1e3 * (time.process_time() - begin))"
    )
    command = [sys.executable, "-c", code, str(DISTRIBUTION / "library")]
    took = [float(subprocess.check_output(command, text=True)) for _ in range(3)]
    assert min(took) < 50


def test_a_search_finds_what_the_starter_holds_without_a_library_of_ones_own(
    site: Path, tmp_path: Path
) -> None:
    done = run(tmp_path, site, "find", "attention is all you need", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hits"][0]["work"]["title"] == "Attention Is All You Need"
    assert not (tmp_path / "libraries").exists()


def test_a_paper_is_found_by_what_its_abstract_says(site: Path, tmp_path: Path) -> None:
    done = run(tmp_path, site, "find", "photosynthesis of seaweed under lamplight", "--json")
    works = [hit["work"] for hit in json.loads(done.stdout)["hits"][:3]]
    assert "A quiet method" in [work["title"] for work in works]
    assert not any(work.get("abstract") for work in works)


def test_works_that_bibliographies_agree_on_are_there_and_say_so(
    site: Path, tmp_path: Path
) -> None:
    done = run(tmp_path, site, "find", WANTED, "--json")
    work = json.loads(done.stdout)["hits"][0]["work"]
    assert work["title"] == WANTED
    assert (work["year"], work["journal"], work["doi"]) == (2019, "Trees", "10.1000/e")
    assert work["provenance"][0]["source"] == "bibliographies"
    found = run(tmp_path, site, "find", "A book of oaks", "--json")
    assert json.loads(found.stdout)["hits"][0]["work"]["title"] == "A book of oaks"


def titles_of(site: Path) -> list[str]:
    with Library.open(site / "citewell_starter" / "library") as library:
        return [work.title for work in library.iter_works()]


def test_samples_of_templates_and_notes_are_refused(site: Path) -> None:
    titles = titles_of(site)
    assert [title for title, _ in SAMPLES if title in titles] == []
    assert [title for title, _ in PLAIN if title not in titles] == []


def test_records_of_one_paper_are_one_work_and_its_journal_version_is_cited(
    site: Path, tmp_path: Path
) -> None:
    with Library.open(site / "citewell_starter" / "library") as library:
        nets = library.lookup(title="Contested elm networks")
        assert nets == library.lookup(title="Contested Elm Nets")
        assert [(work.title, work.venue) for work in nets] == [("Contested Elm Nets", "neurips")]
        (latent,) = library.lookup(title="Latent Allocation of Elms")
        assert (latent.year, latent.journal) == (2003, "Journal of Machine Learning Research")
        assert [one.year for one in latent.variants] == [2001]
        # Facts that are not complete are a version, and not what is cited.
        (cuts,) = library.lookup(title="Normalised cuts of elms")
        assert (cuts.year, cuts.venue, cuts.authors[0].given) == (1997, "cvpr", "Ann")
        assert [one.year for one in cuts.variants] == [2000]
        (bagged,) = library.lookup(title="Bagged elms and their predictors")
        assert bagged.year == 1996 and not bagged.variants
        robots = library.lookup(title="Robots that climb elms")
        assert sorted(work.authors[0].family for work in robots) == ["Ash", "Dogwood", "Elder"]
        assert library.lookup(title="Robots that climb the elm")[0] in robots
        parts = [library.lookup(title=f"Elms in motion: Part {part}") for part in ("I", "II")]
        assert parts[0] != parts[1]
    (tmp_path / "refs.bib").write_text(
        "@article{a, title = {Latent Allocation of Elms}, author = {Ash, Ann and Birch, Bo},"
        " year = 2003, journal = {Journal of Machine Learning Research}}\n"
        "@inproceedings{b, title = {Latent Allocation of Elms}, author = {Ash, Ann and Birch, Bo},"
        " year = 2001, booktitle = {NeurIPS}}\n",
        encoding="utf-8",
    )
    done = run(tmp_path, site, "check", "refs.bib", "--format", "json")
    assert json.loads(done.stdout)["counts"]["verified"] == 2, done.stdout
    entry = run(tmp_path, site, "find", "latent allocation of elms", "-k", "1", "--bibtex").stdout
    assert entry.startswith("@article{ash2003latent,"), entry


def test_names_have_the_case_that_other_records_of_the_person_have(site: Path) -> None:
    with Library.open(site / "citewell_starter" / "library") as library:
        (work,) = library.lookup(title="Names of elms in small letters")
    assert [author.display for author in work.authors] == [
        "Yelong Larch", "Bo de Fir", "m. c. schraefel", "Ondrej Alder", "Cy Cedar",
    ]  # fmt: skip


@pytest.mark.parametrize("number", [0, 2, 6, 8])
def test_an_entry_with_the_names_of_a_template_is_no_work_whatever_a_record_says(
    site: Path, tmp_path: Path, number: int
) -> None:
    title, names = SAMPLES[number]
    entry = f"@article{{x, title = {{{title}}}, author = {{{names}}}, year = 2001, journal = {{Oaks}}}}\n"
    (tmp_path / "own.jsonl").write_text(
        json.dumps({"id": "own:1", "title": title, "authors": names.split(" and "), "year": 2001,
                    "journal": "Oaks", "kind": "article", "source": "own"}) + "\n",
        encoding="utf-8",
    )  # fmt: skip
    assert run(tmp_path, site, "library", "add", "own.jsonl").returncode == 0
    (tmp_path / "refs.bib").write_text(entry, encoding="utf-8")
    done = run(tmp_path, site, "check", "refs.bib", "--format", "json")
    (check,) = json.loads(done.stdout)["checks"]
    assert check["verdict"] != "verified", check
    assert "author-placeholder" in [one["code"] for one in check["findings"]]


@pytest.fixture
def cut_list(inputs: Path, tmp_path: Path) -> Path:
    """A folder of installed packages whose starter holds a work with a cut list of authors."""
    cut = {
        "title": "Pollarded willows of the marshes",
        "authors": [[f"Willow{letter}", "Ann", ""] for letter in "abcdefghij"],
        "year": 2021,
        "kind": "article",
        "journal": "rXiv:2110.14168v2 [cs.LG] 18 Nov 2021",
    }
    changed = tmp_path / "inputs"
    shutil.copytree(inputs, changed)
    (changed / "agreed.jsonl").write_text(json.dumps(cut) + "\n", encoding="utf-8")
    package = tmp_path / "site" / "citewell_starter"
    package.mkdir(parents=True)
    shutil.copy(DISTRIBUTION / "__init__.py", package)
    make(changed, package / "library")
    return tmp_path / "site"


def test_a_list_of_authors_that_was_cut_ends_with_others(cut_list: Path, tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\begin{document}\n"
        "See \\cite<pollarded willows of the marshes>.\n\\bibliography{refs}\n\\end{document}\n",
        encoding="utf-8",
    )
    refs = tmp_path / "refs.bib"
    refs.write_text("", encoding="utf-8")
    done = run(tmp_path, cut_list, "fill", "--yes", "paper.tex")
    assert done.returncode == 0, done.stderr
    entry = refs.read_text(encoding="utf-8")
    assert "Willowj, Ann and others}" in entry, entry
    # A stamp of arXiv is no journal.
    assert "cs.LG" not in entry and "2110.14168" in entry, entry

    def codes(text: str) -> list[str]:
        refs.write_text(text, encoding="utf-8")
        done = run(tmp_path, cut_list, "check", "refs.bib", "--format", "json")
        (check,) = json.loads(done.stdout)["checks"]
        assert check["verdict"] == "verified", check
        return [one["code"] for one in check.get("findings", ())]

    assert codes(entry) == []
    assert codes(entry.replace(" and others}", "}")) == ["author-cut"]
    assert codes(entry.replace(" and others}", " and Elm, Eve and Oak, Bo}")) == []


def test_works_of_later_years_are_left_out(site: Path, tmp_path: Path) -> None:
    done = run(tmp_path, site, "find", "A paper of next year", "--json")
    titles = [hit["work"]["title"] for hit in json.loads(done.stdout)["hits"]]
    assert not {"A paper of next year", "A book of next year"} & set(titles)


def test_the_status_says_what_the_starter_covers(site: Path, tmp_path: Path) -> None:
    done = run(tmp_path, site, "library", "status")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The library starter holds" in done.stdout
    assert "by field:" in done.stdout and "`citewell library fetch --for PAPER`" in done.stdout
    status = json.loads(run(tmp_path, site, "library", "status", "--json").stdout)
    assert 0 < status["fields"]["biology and medicine"] < status["fields"]["computing"] < 100
    card = status["card"]
    assert sum(card["years"].values()) <= card["works"]
    # The book and the wanted work, the works that resemble no work, and three versions.
    assert card["sources"]["bibliographies"] == 2 + len(PLAIN) + 3
    assert "starter" in run(tmp_path, site, "library", "list").stdout


OWN = """@inproceedings{mine2017, title = {Attention Is All You Need}, author = {Vaswani, Ashish},
  year = {2017}, booktitle = {My notes}}
@misc{beech, title = {A Survey of Beeches}, author = {Beech, Bo}, year = {2020}}
"""


def built(factory: pytest.TempPathFactory, site: Path, name: str, text: str) -> Path:
    """A folder with a .bib and the library that was made of it."""
    folder = factory.mktemp(name)
    (folder / f"{name}.bib").write_text(text, encoding="utf-8")
    assert run(folder, site, "library", "add", f"{name}.bib").returncode == 0
    return folder


@pytest.fixture(scope="module")
def own_built(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory, site, "own", OWN)


@pytest.fixture
def own(own_built: Path, tmp_path: Path) -> Path:
    """A folder with a library of two papers, one of which the starter holds too."""
    return moved(own_built, tmp_path, "own")


def moved(folder: Path, to: Path, name: str) -> Path:
    """A copy of a folder, whose library knows where the .bib of the copy is."""
    shutil.copytree(folder, to, dirs_exist_ok=True)
    sources = to / "libraries" / "default" / "sources.json"
    text = sources.read_text(encoding="utf-8")
    sources.write_text(text.replace(str(folder), str(to)), encoding="utf-8")
    return to


def found(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    return [hit["work"] for hit in json.loads(done.stdout)["hits"]]


def test_a_search_covers_ones_own_library_and_the_starter(site: Path, own: Path) -> None:
    assert found(run(own, site, "find", "survey of beeches", "--json"))[0]["title"].startswith(
        "A S"
    )
    works = found(run(own, site, "find", WANTED, "--json"))
    assert works[0]["title"] == WANTED
    alone = run(own, site, "--set", "library.starter=false", "find", WANTED, "--json")
    assert WANTED not in [work["title"] for work in found(alone)]


def test_a_work_that_both_hold_is_found_once_as_ones_own_record(site: Path, own: Path) -> None:
    works = found(run(own, site, "find", "attention is all you need", "--json"))
    same = [work for work in works if work["title"] == "Attention Is All You Need"]
    assert [work["booktitle"] for work in same] == ["My notes"]


def test_a_library_from_which_a_paper_was_removed_stands_on_the_starter(
    site: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = built(tmp_path_factory, site, "own", OWN)
    (own / "own.bib").write_text(OWN.rpartition("@")[0], encoding="utf-8")
    added = run(own, site, "library", "add", "own.bib")
    assert "1 removed" in added.stdout + added.stderr
    works = found(run(own, site, "find", "attention is all you need", "--json"))
    assert works[0]["booktitle"] == "My notes"
    works = found(run(own, site, "find", "survey of beeches", "--json"))
    assert "A Survey of Beeches" not in [work["title"] for work in works]


def test_a_work_that_both_hold_passes_the_filters_of_both_records(site: Path, own: Path) -> None:
    for more in (["--author", "Shazeer"], ["--venue", "NeurIPS"]):
        works = found(run(own, site, "find", "attention is all you need", *more, "--json"))
        assert [work["booktitle"] for work in works if "Attention Is" in work["title"]] == [
            "My notes"
        ], more


def test_an_identifier_that_only_the_starter_knows_finds_its_record(site: Path, own: Path) -> None:
    entry = ENTRY.format(kind="misc", year=2019, more="")
    (own / "thin.bib").write_text(entry, encoding="utf-8")
    assert run(own, site, "library", "add", "thin.bib").returncode == 0
    alone = run(own, site, "--set", "library.starter=false", "find", WANTED, "--json")
    assert "doi" not in found(alone)[0]
    (work,) = found(run(own, site, "find", "10.1000/e", "--json"))
    assert (work["title"], work["doi"]) == (WANTED, "10.1000/e")


THIN = """@misc{oak, title = {Attention Is All You Need}, year = {2017}}
@article{elms, title = {Billions of Elms: A Search}, author = {Larch, A.}, year = {2019},
  journal = {Trees}, pages = {7--9}}
"""


@pytest.fixture
def thin(site: Path, tmp_path: Path) -> Path:
    """A folder with a library of two records, of whose works the starter knows more."""
    (tmp_path / "thin.bib").write_text(THIN, encoding="utf-8")
    assert run(tmp_path, site, "library", "add", "thin.bib").returncode == 0
    return tmp_path


def test_what_a_thin_record_lacks_comes_from_the_starter(site: Path, thin: Path) -> None:
    title = "Attention Is All You Need"
    alone = run(thin, site, "--set", "library.starter=false", "find", title, "--json")
    assert found(alone)[0]["authors"] == []
    works = found(run(thin, site, "find", title, "--json"))
    (work,) = [work for work in works if work["title"] == title]
    assert work["bibkey"] == "oak"
    assert str(work["authors"][0]).startswith("Ashish Vaswani"), work
    assert work["booktitle"] and work["kind"] == "inproceedings"
    sources = [origin["source"].partition(":")[0] for origin in work["provenance"]]
    assert sources[0] == "bibtex" and len(sources) > 1
    entry = run(thin, site, "find", title, "-k", "1", "--bibtex").stdout
    assert entry.startswith("@inproceedings{vaswani2017attention,"), entry
    assert "Vaswani, Ashish and" in entry and "booktitle = {" in entry


def test_an_explanation_lists_the_records_of_ones_own_library_and_of_the_starter(
    site: Path, own: Path
) -> None:
    def sources(*arguments: str) -> list[str]:
        done = run(own, site, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)
        return [record["source"].partition(":")[0] for record in found["records"]]

    both = sources("library", "explain", "Attention Is All You Need")
    assert both[0] == "bibtex" and len(both) > 1
    # Of a work that only the starter holds, its records alone.
    only = sources("library", "explain", WANTED)
    assert only and "bibtex" not in only
    # Of a work that two files of one's own give, theirs and the starter's.
    text = (own / "own.bib").read_text(encoding="utf-8")
    (own / "again.bib").write_text(text, encoding="utf-8")
    assert run(own, site, "library", "add", "again.bib").returncode == 0
    assert sources("library", "explain", "Attention Is All You Need").count("bibtex") == 2


def test_a_paper_is_filled_and_checked_with_the_filled_record(site: Path, thin: Path) -> None:
    (thin / "paper.tex").write_text(
        "\\documentclass{article}\\begin{document}\n"
        "We attend \\cite<attention is all you need>.\n\\bibliography{refs}\n\\end{document}\n",
        encoding="utf-8",
    )
    (thin / "refs.bib").write_text("", encoding="utf-8")
    done = run(thin, site, "fill", "--yes", "paper.tex")
    assert done.returncode == 0, done.stderr
    assert "Vaswani, Ashish and" in (thin / "refs.bib").read_text(encoding="utf-8")
    (thin / "wrong.bib").write_text(
        "@inproceedings{a, title = {Attention Is All You Need}, author = {Miller, Zoe and"
        " Stone, Abel and Wood, Carl}, year = {2017}, booktitle = {NeurIPS}}\n",
        encoding="utf-8",
    )
    done = run(thin, site, "check", "wrong.bib", "--format", "json")
    (check,) = json.loads(done.stdout)["checks"]
    assert check["verdict"] != "verified", check


def test_the_status_and_an_empty_result_say_what_both_cover(site: Path, own: Path) -> None:
    status = json.loads(run(own, site, "library", "status", "--json").stdout)
    assert (status["works"], status["first"], status["last"]) == (2, 2017, 2020)
    assert status["below"]["name"] == "starter"
    shown = run(own, site, "library", "status").stdout
    assert "works of 2017 to 2020" in shown
    assert "The library starter holds" in shown
    done = run(own, site, "--set", "retrieval.dense=false", "find", "qqqqzzzz", "--json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["code"] == "not-held"
    assert "The library default holds 2 works. The library starter holds" in problem["message"]


def test_a_check_and_the_coverage_see_the_starter_below(site: Path, own: Path) -> None:
    entry = ENTRY.format(kind="article", year=2019, more="journal = {Trees}")
    (own / "cited.bib").write_text(entry, encoding="utf-8")
    done = run(own, site, "check", "cited.bib", "--format", "json")
    assert json.loads(done.stdout)["counts"]["verified"] == 1, done.stdout
    done = run(own, site, "library", "coverage", "cited.bib", "--json")
    assert json.loads(done.stdout)["missing"] == []


def test_a_new_version_replaces_the_starter_and_leaves_ones_own_library(
    inputs: Path, site: Path, own: Path
) -> None:
    newer = own / "newer"
    shutil.copytree(site, newer)
    for path in newer.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    command = [*(sys.executable, "-m", "citewell_corpus", "starter", str(inputs / "new.jsonl")),
               *("--until", "2026", "--out", str(newer / "citewell_starter" / "library"))]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    works = found(run(own, newer, "find", "A paper of next year", "--json"))
    assert works[0]["title"] == "A paper of next year"
    assert found(run(own, newer, "find", "survey of beeches", "--json"))[0]["id"]
    titles = [work["title"] for work in found(run(own, newer, "find", WANTED, "--json"))]
    assert WANTED not in titles


def test_a_damaged_starter_leaves_ones_own_library_usable(site: Path, own: Path) -> None:
    broken = own / "broken"
    shutil.copytree(site, broken)
    for path in broken.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (record,) = broken.rglob("segment.json")
    record.write_text("{}", encoding="utf-8")
    done = run(own, broken, "find", "survey of beeches", "--json")
    assert found(done)[0]["title"] == "A Survey of Beeches"


def test_the_engine_imports_nothing_of_the_distribution(site: Path, tmp_path: Path) -> None:
    code = "import sys; from citewell.corpus.layout import installed_starter as f; print(f());"
    code += "print('citewell_starter' in sys.modules, 'numpy' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, encoding="utf-8", check=True
    )
    assert str(site / "citewell_starter" / "library") in done.stdout
    assert "False" in done.stdout.splitlines()[-1].split()[0]


def test_an_accepted_paper_is_found_beside_the_starter(
    site: Path, tmp_path: Path, fake_sources: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    settings = (
        "--set",
        "sources.allow=openreview",
        "--set",
        f"sources.base_url={fake_sources.url}",
    )
    words = ("--online", "--bibtex", "-k", "1", "the patience of kettles")
    done = run(tmp_path, site, *settings, "find", *words)
    assert "Patience of Kettles" in done.stdout, done.stderr
    done = run(tmp_path, site, "find", "patience of kettles", "--json")
    assert "Patience of Kettles" in json.loads(done.stdout)["hits"][0]["work"]["title"]
    done = run(tmp_path, site, "find", "attention is all you need", "--json")
    assert json.loads(done.stdout)["hits"][0]["work"]["title"] == "Attention Is All You Need"
