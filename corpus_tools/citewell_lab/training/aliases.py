"""Collects the names by which others cite papers:
`python -m citewell_lab.training.aliases --data ../shared/data --into WEIGHTS`.

In "we train a ResNet [CITATION]" the cited paper is called ResNet. A name is kept where several
papers use it for the same work and few use it for another. The table holds names, hashes of titles
and counts; no sentence. `contexts/dev` is not read: what it measures must not be learned from it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from citewell.corpus.aliases import (
    DOMINANT,
    FEWEST,
    GENERIC,
    Alias,
    alias_name,
    write_aliases,
)
from citewell.corpus.columns import title_key
from citewell.model import Author
from citewell.model.languages import STOPWORDS
from citewell.model.names import parse_author
from citewell.model.query import MARK, OTHER
from citewell.verification.likeness import are_versions
from citewell_lab.training.data import CORPORA, is_tuning, read_jsonl

Facts = tuple[str, Author]
"""The title of a work and its first author."""
CONTEXTS = ("contexts_train2", "train", "contexts_no_gold2", "train_no_gold")
"""Files below `contexts`; those without a gold name works that the corpora lack."""
WHOLE_PAPERS = (*CONTEXTS, "contexts_train3", "contexts_no_gold3")
"""Files in which the papers that write a name are counted: all citations of a paper in LaTeX or
Markdown are there, of one read from a PDF only some."""
LONGEST = 3
"""Words of a name."""
MOST_WORKS = 3
"""Works kept of one name."""
LEAST, SURE = 2, 4
"""Minimum citing papers that use a name for a work, and the number from which a smaller share
suffices."""
SHAPED_SHARE, PLAIN_SHARE, LONG_SHARE = 0.34, 0.5, 0.34
"""Least share of the citing papers that use a name, by its form: "ResNet", "tagger", "Penn
Treebank"."""
SURE_SHARE = 0.12
"""Least share for names with the form of one, of works that many call so."""

_TOKEN = re.compile(r"[^\W_][\w.+/'’-]*")
_SHAPED = re.compile(r"(?=(?:.*[A-Z]){2}|.*[A-Za-z].*\d|[A-Z][a-z])[\w.+/-]{2,30}")
"""A name: two capitals, letters with a digit, or a capital; mid-sentence, few others have one."""


class Uses(msgspec.Struct):
    """The users of one name."""

    papers: set[str]
    works: dict[int, set[str]]
    """By title key: the citing papers that mean that work."""
    forms: Counter[bool]
    """Counts of uses with and without the form of a name."""


def names_before(sentence: str) -> Iterator[tuple[str, bool]]:
    """Candidate names before the mark of a sentence, and whether each has the form of a name."""
    left = sentence.partition(MARK)[0].rstrip(" ~(,[;:")
    if left.endswith(OTHER):
        return
    words: list[str] = []
    end = len(left)
    for match in reversed([*_TOKEN.finditer(left[-80:])]):
        end_of = match.end() + max(0, len(left) - 80)
        between = left[end_of:end].strip(" ~") if words else left[end_of:].strip(" ()~.'’\"”")
        if between or len(words) > LONGEST:
            break
        words.insert(0, match[0].removesuffix("'s").removesuffix("’s").strip(".-/'’"))
        end = match.start() + max(0, len(left) - 80)
    for last in (len(words), len(words) - 1):
        if last < len(words) and words[last:] and words[last].lower() not in GENERIC:
            break
        for size in range(1, min(LONGEST, last) + 1):
            run = words[last - size : last]
            if run and _is_name(run):
                yield " ".join(run), any(_SHAPED.fullmatch(word) for word in run)


def _is_name(run: list[str]) -> bool:
    ends = (run[0].lower(), run[-1].lower())
    if any(len(word) < 2 or word.encode() in STOPWORDS or word.isdigit() for word in ends):
        return False
    if len(run) == 1:
        return ends[0] not in GENERIC
    return all(_SHAPED.fullmatch(word) for word in (run[0], run[-1]))


def uses_of(records: Iterable[dict[str, Any]], titles: dict[str, str]) -> dict[str, Uses]:
    """The uses of each name, by its lookup form."""
    found: dict[str, Uses] = {}
    for record in records:
        key = title_key(_cited_title(record, titles))
        if not key:
            continue
        paper = _paper_of(record)
        for name, shaped in names_before(record["sentence"]):
            plain = alias_name(name)
            if len(plain) < 2 or plain.isdigit():
                continue
            uses = found.setdefault(plain, Uses(set(), defaultdict(set), Counter()))
            uses.papers.add(paper)
            uses.works[key].add(paper)
            uses.forms[shaped and " " not in name] += 1
    return found


def table_of(
    found: dict[str, Uses], longer: frozenset[str] = frozenset()
) -> dict[str, tuple[Alias, ...]]:
    """The names worth keeping, with their works; `longer` are names of several words."""
    kept = {}
    for name, uses in found.items():
        shaped = uses.forms[True] * 2 > uses.forms.total()
        share = SHAPED_SHARE if shaped else LONG_SHARE if name in longer else PLAIN_SHARE
        least = LEAST if shaped or name in longer else SURE
        every = len(uses.papers)
        # A common name also refers to many works that only one paper cites.
        agreed = len(set().union(*(p for p in uses.works.values() if len(p) >= LEAST)))
        works = [
            Alias(key, count, max(agreed, every // 2))
            for key, count in ((key, len(papers)) for key, papers in uses.works.items())
            if (count >= least and count >= share * every)
            or (shaped and count >= SURE and count >= SURE_SHARE * every)
        ]
        if works:
            works.sort(key=lambda one: (-one.papers, one.key))
            kept[name] = tuple(works[:MOST_WORKS])
    return kept


def with_mentions(
    table: dict[str, tuple[Alias, ...]],
    found: dict[str, Uses],
    records: Iterable[dict[str, Any]],
    titles: dict[str, str],
    facts: Mapping[int, Facts],
) -> dict[str, tuple[Alias, ...]]:
    """The table with the papers that write each dominant name, and those that cite its work in any
    version."""
    dominant: dict[str, frozenset[int]] = {}
    for name, works in table.items():
        uses = found[name]
        versions = frozenset(
            key
            for key in uses.works
            if key == works[0].key or _are_versions(facts.get(key), facts.get(works[0].key))
        )
        papers = set().union(*(uses.works[key] for key in versions))
        if len(papers) >= max(FEWEST, DOMINANT * (len(uses.papers) + 1)):
            dominant[name] = versions
    writes: dict[str, set[str]] = defaultdict(set)
    cites: dict[int, set[str]] = defaultdict(set)
    for record in records:
        if record.get("format") == "text":
            continue
        paper = _paper_of(record)
        cites[title_key(_cited_title(record, titles))].add(paper)
        text = f"{record.get('context_before', '')} {record['sentence']}"
        for word in _TOKEN.findall(f"{text} {record.get('context_after', '')}"):
            word = word.rstrip(".-/")
            if _SHAPED.fullmatch(word) and (name := alias_name(word)) in dominant:
                writes[name].add(paper)
    return table | {
        name: (
            replace(
                table[name][0],
                mentions=len(writes[name]),
                cited=len(writes[name] & set().union(*(cites[key] for key in keys))),
            ),
            *table[name][1:],
        )
        for name, keys in dominant.items()
    }


def _are_versions(one: Facts | None, other: Facts | None) -> bool:
    if one is None or other is None:
        return False
    return are_versions(one[0], other[0], one[1], other[1])


def facts_of(data: Path, records: Iterable[dict[str, Any]]) -> dict[int, Facts]:
    """The title and the first author of each work of the corpora and the records, by title key."""
    found: dict[int, Facts] = {}
    for name in CORPORA:
        for record in read_jsonl(data / "corpus" / f"{name}.jsonl.zst"):
            _note(found, record["title"], record.get("authors"))
    for record in records:
        _note(found, record.get("gold_title"), record.get("gold_authors"))
    return found


def _note(found: dict[int, Facts], title: str | None, authors: list[str] | None) -> None:
    if title and authors:
        found.setdefault(title_key(title), (title, parse_author(authors[0])))


def _cited_title(record: dict[str, Any], titles: dict[str, str]) -> str:
    return titles.get(record.get("gold_id") or "", "") or record.get("gold_title") or ""


def _paper_of(record: dict[str, Any]) -> str:
    return str(record.get("source_paper_id") or record.get("source_title") or record["id"])


def records_of(
    data: Path, names: Iterable[str], *, tuning: bool = True
) -> Iterator[dict[str, Any]]:
    """The citations of the named files below `contexts`, with or without the papers that tune."""
    for name in names:
        for record in read_jsonl(data / "contexts" / f"{name}.jsonl.gz"):
            if tuning or not is_tuning(record):
                yield record


def longer_names(records: Iterable[dict[str, Any]]) -> frozenset[str]:
    """Names of several words, as they are looked up."""
    return frozenset(
        alias_name(name)
        for record in records
        for name, _ in names_before(record["sentence"])
        if " " in name
    )


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Folder of weights.")
@click.option("--contexts", multiple=True, default=CONTEXTS, help="Files that are read.")
@click.option(
    "--without-tuning", is_flag=True, help="Leave out the papers that tune: to train and tune with."
)
def main(data: Path, into: Path, contexts: tuple[str, ...], *, without_tuning: bool) -> None:
    """Collect the names and write `aliases.tsv`."""
    titles = {
        record["id"]: record["title"] or ""
        for name in CORPORA
        for record in read_jsonl(data / "corpus" / f"{name}.jsonl.zst")
    }
    records = list(records_of(data, contexts, tuning=not without_tuning))
    found = uses_of(records, titles)
    known = table_of(found, longer_names(records))
    whole = records_of(data, WHOLE_PAPERS, tuning=not without_tuning)
    known = with_mentions(known, found, whole, titles, facts_of(data, records))
    path = into / "aliases.tsv"
    write_aliases(known, path)
    works = sum(map(len, known.values()))
    click.echo(f"{len(known):,} names of {works:,} works, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
