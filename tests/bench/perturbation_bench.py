"""One change at a time to references of real records: caught, noted or passed.

    python tests/bench/perturbation_bench.py [--library FOLDER] [--records 200] [--write]

Each kind of change is made to each record that allows it, as BibTeX and as printed in five styles.
A second table has the verdicts on the invented and the odd references of `tests/fixtures`. Without
`--library` it is the starter library. `--write` puts both tables into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from citewell.corpus.library import Library
from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import inherited, venue_named
from citewell.engine.records import LibraryRecords
from citewell.features.checking.check import ORDER, references_in, tally
from citewell.model import Author, Work
from citewell.model.check import INVENTED, Check, Claim, Verdict
from citewell.model.identifiers import Identifier, identifier_of
from citewell.model.names import is_organisation
from citewell.sources.combine import is_preprint, is_second_hand
from citewell.sources.values import is_malformed
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib

REPOSITORY = Path(__file__).resolve().parents[2]
STARTER = REPOSITORY / "corpus_tools" / "starter" / "citewell_starter" / "library"
PAGE = REPOSITORY / "docs" / "benchmarks.md"
FIXTURES = REPOSITORY / "tests" / "fixtures"
SETS = {"fabricated": FIXTURES / "fabricated_references.bib",
        "odd and correct": FIXTURES / "odd_references.bib"}  # fmt: skip
MARKS = ("<!-- perturbations -->\n", "<!-- end of perturbations -->\n")
SEED = 37
VENUES = ("acl", "emnlp", "naacl", "eacl", "coling", "neurips", "icml", "iclr", "cvpr", "iccv",
          "eccv", "aaai", "ijcai", "kdd", "sigir", "chi", "interspeech", "tacl", "jmlr")  # fmt: skip
STRANGERS = (Author("Zimmerling", "Torben"), Author("Okonjo", "Adaeze"), Author("Falkenrath", "Ute"),
            Author("Quispe", "Rosario"), Author("Marchetti", "Livia"))  # fmt: skip
GIVEN = ("Torben", "Adaeze", "Ute", "Rosario", "Livia")
WORDS = ("Granular", "Elliptic", "Dormant", "Volcanic", "Maritime")


class Case(msgspec.Struct, frozen=True):
    """A reference that is to be written."""

    title: str
    authors: tuple[Author, ...]
    year: int
    venue: str
    pages: str = ""
    fields: Mapping[str, str] = {}
    """Further fields, such as `doi`, `eprint` or `url`."""


class Row(msgspec.Struct, frozen=True):
    """How often a change was caught, noted, and passed without a word, of those that were made."""

    made: int
    caught: float
    """Reported: the reference is called wrong."""
    noted: float
    """Not reported, and a note or a verdict says that the change was seen."""
    passed: float
    """Verified without a note."""
    verified: float
    """Verified, with a note or without."""


Change = Callable[[Case, Work, random.Random, "Others"], "Case | None"]


class Others(msgspec.Struct, frozen=True):
    """Works whose identifiers are given to references of others, by the kind of identifier."""

    by_kind: Mapping[str, Sequence[Work]]

    def pick(self, kind: str, work: Work, chance: random.Random) -> Work:
        """A work of that kind with another first author and year."""
        pool = self.by_kind[kind]
        for _ in range(100):
            other = chance.choice(pool)
            names = {author.family for author in other.authors}
            if other.id != work.id and not names & {author.family for author in work.authors}:
                return other
        raise LookupError(kind)


def _authors(change: Callable[[list[Author], random.Random], object], least: int = 2) -> Change:
    def changed(case: Case, work: Work, chance: random.Random, others: Others) -> Case | None:
        names = list(case.authors)
        if len(names) < least:
            return None
        change(names, chance)
        return msgspec.structs.replace(case, authors=tuple(names))

    return changed


def _added(names: list[Author], chance: random.Random) -> None:
    names.append(chance.choice(STRANGERS))


def _dropped(names: list[Author], chance: random.Random) -> None:
    names.pop(chance.randrange(len(names)))


def _first_swapped(names: list[Author], chance: random.Random) -> None:
    names[0], names[1] = names[1], names[0]


def _ends_swapped(names: list[Author], chance: random.Random) -> None:
    names[0], names[-1] = names[-1], names[0]


def _replaced(names: list[Author], chance: random.Random) -> None:
    names[chance.randrange(len(names))] = chance.choice(STRANGERS)


def _all_replaced(names: list[Author], chance: random.Random) -> None:
    names[:] = chance.sample(STRANGERS, min(len(names), len(STRANGERS)))


def _given_replaced(names: list[Author], chance: random.Random) -> None:
    at = chance.randrange(len(names))
    free = [given for given in GIVEN if given[0] != names[at].given[:1]]
    names[at] = Author(names[at].family, chance.choice(free), names[at].suffix)


def _title(case: Case, work: Work, chance: random.Random, others: Others) -> Case | None:
    words = case.title.split()
    long = [n for n, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if not long:
        return None
    words[chance.choice(long)] = chance.choice(WORDS)
    return msgspec.structs.replace(case, title=" ".join(words))


def _joined(case: Case, work: Work, chance: random.Random, others: Others) -> Case | None:
    head, colon, _ = case.title.partition(": ")
    tails = [w.title.partition(": ")[2] for w in others.by_kind["titles"]]
    long = [tail for tail in tails if len(tail.split()) > 3]
    if not colon or len(head.split()) > 5:
        return None
    return msgspec.structs.replace(case, title=f"{head}: {chance.choice(long)}")


def _year(step: int) -> Change:
    def changed(case: Case, work: Work, chance: random.Random, others: Others) -> Case:
        return msgspec.structs.replace(case, year=case.year + step)

    return changed


def _venue(case: Case, work: Work, chance: random.Random, others: Others) -> Case:
    mine = work.venue.lower()
    other = chance.choice([venue for venue in VENUES if venue != mine])
    return msgspec.structs.replace(case, venue=_written(other))


def _pages(case: Case, work: Work, chance: random.Random, others: Others) -> Case | None:
    if not case.pages:
        return None
    first = chance.randrange(9000, 9900)
    return msgspec.structs.replace(case, pages=f"{first}-{first + 9}")


def _identifier(kind: str, write: Callable[[Case, Work], Case]) -> Change:
    def changed(case: Case, work: Work, chance: random.Random, others: Others) -> Case | None:
        return write(case, others.pick(kind, work, chance)) if others.by_kind[kind] else None

    return changed


def _with(case: Case, **fields: str) -> Case:
    return msgspec.structs.replace(case, fields=fields)


def _both(one: Change, other: Change) -> Change:
    def changed(case: Case, work: Work, chance: random.Random, others: Others) -> Case | None:
        first = one(case, work, chance, others)
        return other(first, work, chance, others) if first is not None else None

    return changed


def _unchanged(case: Case, work: Work, chance: random.Random, others: Others) -> Case:
    return case


ADDED, GIVEN_NAME, TITLE = _authors(_added), _authors(_given_replaced), _title
CHANGES: dict[str, Change] = {
    "nothing changed": _unchanged,
    "one author more": ADDED,
    "one author fewer": _authors(_dropped, 3),
    "first two authors swapped": _authors(_first_swapped),
    "first and last author swapped": _authors(_ends_swapped, 3),
    "one author replaced": _authors(_replaced),
    "all authors replaced": _authors(_all_replaced),
    "one given name replaced": GIVEN_NAME,
    "a word of the title replaced": TITLE,
    "head and tail of two titles joined": _joined,
    "year + 1": _year(1),
    "year - 1": _year(-1),
    "year + 2": _year(2),
    "year - 2": _year(-2),
    "another venue": _venue,
    "other pages": _pages,
    "DOI of another work": _identifier("doi", lambda c, w: _with(c, doi=w.doi)),
    "arXiv DOI of another work": _identifier(
        "arxiv", lambda c, w: _with(c, doi=f"10.48550/arXiv.{w.arxiv}")),
    "arXiv id of another work (`eprint`)": _identifier(
        "arxiv", lambda c, w: _with(c, eprint=w.arxiv, archiveprefix="arXiv")),
    "arXiv address of another work": _identifier(
        "arxiv", lambda c, w: _with(c, url=f"https://arxiv.org/abs/{w.arxiv}")),
    "arXiv preprint of another work": _identifier(
        "arxiv", lambda c, w: msgspec.structs.replace(
            c, venue=f"arXiv preprint arXiv:{w.arxiv}", pages="")),
    "ACL Anthology address of another work": _identifier("acl", lambda c, w: _with(c, url=w.url)),
    "OpenReview address of another work": _identifier(
        "openreview", lambda c, w: _with(c, url=w.url)),
    "PMLR address of another work": _identifier("pmlr", lambda c, w: _with(c, url=w.url)),
    "CVF address of another work": _identifier("cvf", lambda c, w: _with(c, url=w.url)),
    "one author more, year + 1": _both(ADDED, _year(1)),
    "one given name replaced, year + 1": _both(GIVEN_NAME, _year(1)),
    "one author replaced, year + 1": _both(_authors(_replaced), _year(1)),
    "a word of the title replaced, one author more": _both(TITLE, ADDED),
    "first two authors swapped, year + 1": _both(_authors(_first_swapped), _year(1)),
    "year + 1, other pages": _both(_year(1), _pages),
}  # fmt: skip


def _names(authors: Sequence[Author], write: Callable[[Author], str], end: str = ", and ") -> str:
    written = [write(author) for author in authors]
    if len(written) < 2:
        return "".join(written)
    joint = end if len(written) > 2 else end.replace(",", "", 1)
    return ", ".join(written[:-1]) + joint + written[-1]


def _initials(author: Author) -> str:
    return " ".join(f"{part[0]}." for part in re.split(r"[\s-]+", author.given) if part)


def _tail(case: Case) -> str:
    arxiv = case.fields.get("eprint", "")
    more = [f"doi:{case.fields['doi']}" if "doi" in case.fields else "",
            f"arXiv:{arxiv}" if arxiv else "", case.fields.get("url", "")]  # fmt: skip
    return "".join(f". {one}" for one in more if one)


def _plain(case: Case) -> str:
    names = _names(case.authors, lambda a: f"{a.given} {a.family}")
    pages = f", pages {case.pages}" if case.pages else ""
    return f"{names}. {case.title}. In {case.venue}{pages}, {case.year}{_tail(case)}."


def _acl(case: Case) -> str:
    names = _names(case.authors, lambda a: f"{a.given} {a.family}")
    pages = f", pages {case.pages}" if case.pages else ""
    return f"{names}. {case.year}. {case.title}. In {case.venue}{pages}{_tail(case)}."


def _apa(case: Case) -> str:
    names = _names(case.authors, lambda a: f"{a.family}, {_initials(a)}", ", & ")
    pages = f", {case.pages}" if case.pages else ""
    return f"{names} ({case.year}). {case.title}. {case.venue}{pages}{_tail(case)}."


def _ieee(case: Case) -> str:
    names = _names(case.authors, lambda a: f"{_initials(a)} {a.family}")
    pages = f", pp. {case.pages}" if case.pages else ""
    return f"{names}, “{case.title},” in {case.venue}, {case.year}{pages}{_tail(case)}."


def _springer(case: Case) -> str:
    names = _names(case.authors, lambda a: f"{a.family}, {_initials(a)}", ", ")
    pages = f", pp. {case.pages}" if case.pages else ""
    return f"{names}: {case.title}. In: {case.venue}{pages} ({case.year}){_tail(case)}."


STYLES = (_plain, _acl, _apa, _ieee, _springer)


def _bibtex(case: Case) -> str:
    authors = " and ".join(f"{a.family}, {a.given}" for a in case.authors)
    preprint = case.venue.startswith("arXiv")
    fields = {"title": case.title, "author": authors, "year": str(case.year),
              "journal" if preprint else "booktitle": case.venue,
              "pages": case.pages, **case.fields}  # fmt: skip
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{'article' if preprint else 'inproceedings'}{{key,\n{body}}}\n"


def _written(venue: str) -> str:
    known = venue_named(venue)
    return known.name if known else venue.upper()


def _case(work: Work) -> Case:
    assert work.year is not None
    return Case(work.title, work.authors, work.year, _written(work.venue), work.pages)


def _fit(work: Work) -> bool:
    """True for a paper of a well-known meeting or journal with a record that is to be trusted."""
    people = work.authors
    return (
        work.venue.lower() in VENUES
        and 2 <= len(people) <= 9
        and all(len(a.given) > 2 and not is_organisation(a) for a in people)
        and len({a.family for a in people}) == len(people)
        and not is_malformed(people)
        and not work.others
        and 2005 <= (work.year or 0) <= 2023
        and 5 <= len(work.title.split()) <= 16
        and re.search(r"[.?!\"“]", work.title) is None
        and not is_second_hand(work)
        and not is_preprint(work)
        and not work.retracted
    )


def _kind_of(work: Work) -> Iterable[str]:
    """The kinds of identifiers that the work can lend to others."""
    if work.doi and not work.doi.startswith("10.48550"):
        yield "doi"
    if work.arxiv:
        yield "arxiv"
    named: Identifier | None = identifier_of(work.url) if work.url else None
    if named is not None and named.kind in ("acl", "openreview"):
        yield named.kind
    for kind, host in (("pmlr", "proceedings.mlr.press"), ("cvf", "openaccess.thecvf.com")):
        if host in work.url:
            yield kind


def sample(library: Library, count: int) -> tuple[list[Work], Others]:
    """The records that are perturbed, and those that lend their identifiers and titles."""
    chance = random.Random(SEED)
    fit: list[Work] = []
    lenders: dict[str, list[Work]] = {k: [] for k in ("doi", "arxiv", "acl", "openreview", "pmlr",
                                                      "cvf", "titles")}  # fmt: skip
    for work in library.iter_works():
        if _fit(work):
            fit.append(work)
        for kind in _kind_of(work):
            if work.authors and len(work.title.split()) > 3:
                lenders[kind].append(work)
    chosen = chance.sample(fit, min(count, len(fit)))
    lenders["titles"] = [work for work in fit if ": " in work.title][:2000]
    return chosen, Others({kind: works[:: max(1, len(works) // 2000)]
                           for kind, works in lenders.items()})  # fmt: skip


def perturb(
    works: Sequence[Work], others: Others, checker: Checker
) -> dict[str, tuple[list[Check], list[Check]]]:
    """For each kind of change the checks of the references as BibTeX and as printed."""
    found: dict[str, tuple[list[Check], list[Check]]] = {}
    for name, change in CHANGES.items():
        bib: list[Claim] = []
        printed: list[Claim] = []
        for number, work in enumerate(works):
            case = change(_case(work), work, random.Random(f"{name} {work.id}"), others)
            if case is not None:
                bib += references_in(_bibtex(case), "refs.bib").claims
                printed += references_in(STYLES[number % len(STYLES)](case), "refs.txt").claims
        found[name] = (checker.check(bib), checker.check(printed))
    return found


REPORTED = INVENTED | {Verdict.WRONG_DETAIL}


def row(checks: Sequence[Check]) -> Row:
    """The shares of the checks that are caught, noted and passed."""
    count: Counter[str] = Counter()
    for check in checks:
        caught = check.verdict in REPORTED
        silent = check.verdict is Verdict.VERIFIED and not check.findings
        count["caught" if caught else "passed" if silent else "noted"] += 1
        count["verified"] += check.verdict is Verdict.VERIFIED
    made = max(1, len(checks))
    return Row(len(checks), count["caught"] / made, count["noted"] / made,
               count["passed"] / made, count["verified"] / made)  # fmt: skip


def table(found: Mapping[str, tuple[Sequence[Check], Sequence[Check]]]) -> str:
    """The table of docs/benchmarks.md."""
    lines = [
        "| change | references | caught | passed |",
        "|---|---|---|---|",
    ]
    for name, (bib, printed) in found.items():
        one, other = row(bib), row(printed)
        shares = ((one.caught, other.caught), (one.passed, other.passed))
        cells = [f"{bib_share:.2f}/{print_share:.2f}" for bib_share, print_share in shares]
        lines.append(f"| {name} | {one.made} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def by_hand(path: Path, checker: Checker) -> tuple[list[Check], list[Check]]:
    """The checks of the entries of a file, and of the same as printed."""
    bib = parse_bib(path.read_text(encoding="utf-8"), str(path))
    claims = claims_of_bib(bib)
    printed = [
        references_in(_in_print(claim, inherited(bib.by_key, entry)), "refs.txt").claims[0]
        for claim, entry in zip(claims, bib.entries, strict=True)
    ]
    return checker.check(claims), checker.check(printed)


def _in_print(claim: Claim, values: Mapping[str, str]) -> str:
    """The reference as plain.bst prints it."""
    names = _names(claim.authors, lambda author: author.display)
    names += " et al." if claim.others else "."
    place = next((values[n] for n in ("journal", "booktitle", "school", "institution", "publisher",
                                      "organization", "howpublished", "note") if values.get(n)), "")  # fmt: skip
    thesis = {"phdthesis": "PhD thesis, ", "mastersthesis": "Master's thesis, ",
              "techreport": "Technical report, "}.get(claim.kind, "")  # fmt: skip
    place = f"In {place}" if values.get("booktitle") else f"{thesis}{place}"
    volume = f", {values['volume']}:{values.get('pages', '')}" if values.get("volume") else ""
    tail = [f"doi:{values['doi']}" if values.get("doi") else "",
            f"arXiv:{values['eprint']}" if values.get("eprint") else "", values.get("url", "")]  # fmt: skip
    end = "".join(f" {one}." for one in tail if one)
    where = f" {place}{volume}," if place else ""
    return f"{names} {claim.title}.{where} {claim.year}.{end}\n"


def verdicts(sets: Mapping[str, tuple[Sequence[Check], Sequence[Check]]]) -> str:
    """The second table of docs/benchmarks.md."""
    lines = [
        f"| references | {' | '.join(verdict.value for verdict in ORDER)} |",
        "|---" * (len(ORDER) + 1) + "|",
    ]
    for name, forms in sets.items():
        for form, checks in zip(("BibTeX", "printed"), forms, strict=True):
            count = tally(checks)
            cells = " | ".join(str(count.get(verdict, 0)) for verdict in ORDER)
            lines.append(f"| {len(checks)} {name}, {form} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--library", type=Path, default=STARTER, help="folder of a library")
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="put the tables into PAGE")
    flags = parser.parse_args()
    if not (flags.library / "CURRENT").exists():
        print(f"skipped: needs a library in {flags.library}")
        return
    with Library.open(flags.library) as library:
        works, others = sample(library, flags.records)
        checker = Checker([LibraryRecords(library)])
        written = table(perturb(works, others, checker))
        written += "\n" + verdicts({name: by_hand(path, checker) for name, path in SETS.items()})
    print(written)
    if flags.write:
        begin, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
        end = rest.partition(MARKS[1])[2]
        text = f"{begin}{MARKS[0]}\n{written}\n{MARKS[1]}{end}"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
