"""Inconsistencies that copy editors mark in a bibliography: one thing written in several ways.

Each kind is reported once for a file, at the first entry that differs from the majority, with the
majority form and the keys that differ; some with the edits that make all entries alike.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from citewell.features.checking.lint_rule import ignored_in
from citewell.model.bib import BibEntry, BibFile, TextEdit, literal_end
from citewell.model.display_text import shorten
from citewell.model.document import Diagnostic, Format, Level, Span
from citewell.model.fields import NO_WORKS
from citewell.model.names import is_organisation
from citewell.model.titles import normalise_title
from citewell.model.venues import SHORT, is_one_journal, shown_venue, venue_ids

FEWEST = 3
"""Entries of one venue or kind from which they have a usual form."""
RENAMED = 2018
"""First year in which NIPS is called NeurIPS."""
NAMED = 3
"""Keys that a finding names."""
_VENUE_FIELDS = ("booktitle", "journal", "journaltitle")
_PLACES = (*_VENUE_FIELDS, "howpublished", "publisher", "school")
_EDITION = re.compile(
    r"\b(?:in|proceedings|proc\.?|of|the|(?:19|20)\d\d|\d+(?:st|nd|rd|th)?|vol(?:ume)?\.?)(?!\w)"
    r"|['’]\d\d|\([^()]*\)|[,:]+",
    re.IGNORECASE,
)
"""Words that differ between the meetings of one conference."""
_SEPARATE = re.compile(
    r"\b(?:workshops?|findings|companion|adjunct|extended abstracts|demo\w*|track|tutorials?"
    r"|short papers|long papers|challenge)\b",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"(?<![\w\\])[A-Za-z]*[a-z\d]?[A-Z][\w]*[A-Z]\w*|(?<![\w\\])[a-z]+[A-Z]\w*")
_INITIALS = re.compile(r"(?!.*[^\W\d_]{4})(?:(?:[^\W\d_a-z]\.?|[^\W\d_a-z]\w\.)[\s~-]*)+")
_LINK = re.compile(r"https?://(?:dx\.)?doi\.org/", re.IGNORECASE)
_OLD_LINK = re.compile(r"http://(?:dx\.)?doi\.org/|https://dx\.doi\.org/", re.IGNORECASE)


class Inconsistency(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a bibliography writes in several ways."""

    code: str
    span: Span
    """Range of the first entry that differs, or of its field."""
    message: str
    keys: tuple[str, ...]
    """Keys of the entries that differ from the majority."""
    edits: tuple[TextEdit, ...] = ()
    """Make them like the others; empty where only the author can."""

    @property
    def diagnostic(self) -> Diagnostic:
        """The finding in the form of a diagnostic."""
        data = {"key": self.keys[0], "hint": f"In {_listed(self.keys)}."}
        if self.edits:
            data["fix"] = self.code
        return Diagnostic(
            code=self.code,
            span=self.span,
            message=self.message,
            level=Level.INFORMATION,
            data=data,
        )


Rule = Callable[[Sequence[BibEntry]], Iterator[Inconsistency]]


def inconsistencies(
    bib: BibFile, used: Sequence[BibEntry], *, keeps_case: bool = False
) -> Iterator[Inconsistency]:
    """All that the used entries of a file write in several ways.

    `keeps_case`: no style of the paper changes the capitals of titles, as with biblatex. An entry
    in which a comment suppresses a code takes no part in that rule.
    """
    entries = [] if bib.is_csl else [one for one in used if one.type not in NO_WORKS]
    ignored = ignored_in(bib.text, Format.BIBTEX, bib)
    for code, rule in _RULES.items():
        if code != "title-capitals" or not keeps_case:
            yield from rule([
                entry
                for entry in entries
                if not any(one.covers(code, entry.key_span.start) for one in ignored)
            ])  # fmt: skip


def _field_span(entry: BibEntry, names: Sequence[str]) -> Span:
    return next((field.value_span for field in entry.fields_of(names)), entry.key_span)


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return ", ".join(keys[:NAMED]) + more


def _by_venue(entries: Sequence[BibEntry]) -> Mapping[tuple[str, str], list[tuple[BibEntry, str]]]:
    """Entries with the text of their venue, by venue and field; those of one known venue alone, and
    none of workshops and the like beside it, nor of a macro that another file defines."""
    found: dict[tuple[str, str], list[tuple[BibEntry, str]]] = defaultdict(list)
    for entry in entries:
        for field in entry.fields_of(_VENUE_FIELDS):
            name, text = field.name, field.value
            is_known = _is_literal(field.raw) or field.raw.lower() in field.strings
            ids = venue_ids(text) if text and is_known else frozenset()
            if len(ids) == 1 and not _SEPARATE.search(text) and "arxiv" not in text.lower():
                found[next(iter(ids)), name].append((entry, text))
                break
    return found


def _venues(entries: Sequence[BibEntry]) -> Iterator[Inconsistency]:
    edits: list[TextEdit] = []
    words: list[str] = []
    different: list[BibEntry] = []
    for (venue, name), places in _by_venue(entries).items():
        forms = Counter(_form_of(entry, text) for entry, text in places)
        if len(forms) < 2 or (name != "booktitle" and not _are_alike([text for _, text in places])):
            continue
        usual = forms.most_common(1)[0][0]
        alike = [place for place in places if _form_of(*place) == usual]
        others = [place for place in places if _form_of(*place) != usual]
        different += [entry for entry, _ in others]
        text, other = Counter(one for _, one in alike).most_common(1)[0][0], others[0][1]
        written = Counter(
            field.raw for entry, _ in alike for field in entry.fields_of((name,))[:1]
            if _is_literal(field.raw) and not re.search(r"\d|\bNIPS\b", field.raw)
        )  # fmt: skip
        words.append(
            f"{shown_venue(venue)} is “{shorten(text, 60)}” in {forms[usual]} of {len(places)} "
            f"entries, elsewhere “{shorten(other, 60)}”"
        )
        for entry, one in others:
            field = entry.fields_of((name,))[0]
            # Volumes, cities and the like would be lost.
            is_bare = set(re.findall(r"\d+", one)) <= {str(entry.body.year)} and "(" not in one
            if written and is_bare and _is_literal(field.raw):
                edits.append(TextEdit(field.value_span, written.most_common(1)[0][0]))
    if words:
        more = f", and {len(words) - NAMED} more venues" if len(words) > NAMED else ""
        yield Inconsistency(
            code="venue-spelling",
            span=_field_span(different[0], _VENUE_FIELDS),
            message=f"{'; '.join(words[:NAMED])}{more}.",
            keys=tuple(one.key for one in different),
            edits=tuple(edits),
        )


def _are_alike(names: Sequence[str]) -> bool:
    """Whether the names of journals are one name, of which some are abbreviations: an id may stand
    for several journals of a publisher."""
    full = max(names, key=len)
    return all(len(normalise_title(one).split()) == 1 or is_one_journal(one, full) for one in names)


def _form_of(entry: BibEntry, text: str) -> str:
    """How a venue is written: its acronym, "abbreviated", or "in full"; of journals the words. The
    acronym of its time counts as the present one."""
    bare = " ".join(_EDITION.sub(" ", text).split())
    if bare == "NIPS" and (entry.body.year or RENAMED) < RENAMED:
        return "NeurIPS"
    if normalise_title(bare) in SHORT and sum(map(str.isupper, bare)) > 1:
        return bare
    if sum(word.endswith(".") and len(word) > 2 for word in bare.split()[:-1]) > 1:
        return "abbreviated"
    return "in full"


def _given_names(entries: Sequence[BibEntry]) -> Iterator[Inconsistency]:
    kinds: dict[bool, list[BibEntry]] = {True: [], False: []}
    for entry in entries:
        given = [one.given for one in entry.body.authors if one.given and not is_organisation(one)]
        short = [_INITIALS.fullmatch(one) is not None for one in given]
        if short and (all(short) or not any(short)):
            kinds[all(short)].append(entry)
    if not (kinds[True] and kinds[False]) or len(kinds[True]) + len(kinds[False]) < FEWEST:
        return
    initials = len(kinds[True]) > len(kinds[False])
    others = kinds[not initials]
    usual, other = ("initials", "given names in full")[:: 1 if initials else -1]
    yield Inconsistency(
        code="given-names",
        span=_field_span(others[0], ("author",)),
        message=f"{len(kinds[initials])} entries have {usual}, {len(others)} {other}.",
        keys=tuple(one.key for one in others),
    )


def _braces(entries: Sequence[BibEntry]) -> Iterator[Inconsistency]:
    titled = [(entry, field) for entry in entries for field in entry.fields_of(("title",))[:1]]
    double = [entry for entry, field in titled if _is_double(field.raw)]
    if not double or len(double) == len(titled) or len(titled) < FEWEST:
        return
    usual = 2 * len(double) > len(titled)
    others = [e for e, field in titled if _is_double(field.raw) != usual] if usual else double
    yield Inconsistency(
        code="title-braces",
        span=_field_span(others[0], ("title",)),
        message=f"{len(double)} of {len(titled)} titles have double braces, which keep all of "
        "their capitals, the others single ones.",
        keys=tuple(one.key for one in others),
    )


def _is_double(raw: str) -> bool:
    """Whether a second pair of braces encloses the whole value; those of a single word protect a
    name."""
    inner = raw[1:-1].strip()
    return inner.startswith("{") and _is_literal(inner) and len(inner.split()) > 1


def _is_literal(raw: str) -> bool:
    """Whether one pair of delimiters encloses the whole value: no macro, no `#`."""
    return raw[:1] in ("{", '"') and literal_end(raw, 0, len(raw)) == len(raw)


def _capitals(entries: Sequence[BibEntry]) -> Iterator[Inconsistency]:
    names: dict[str, None] = {}
    keys: dict[str, None] = {}
    edits: list[TextEdit] = []
    first: Span | None = None
    for entry in entries:
        for field in entry.fields_of(("title",))[:1]:
            raw = field.raw
            letters = [char for char in raw if char.isalpha()]
            if sum(map(str.isupper, letters)) * 2 > len(letters) or not _is_literal(raw):
                continue
            for found in _CAPITALS.finditer(raw, 1, len(raw) - 1):
                if _is_braced(raw, found.start()):
                    continue
                start = field.value_span.start + found.start()
                place = Span(start, start + len(found[0]))
                first = first or place
                names[found[0]] = keys[entry.key] = None
                edits.append(TextEdit(place, f"{{{found[0]}}}"))
    if first is not None:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield Inconsistency(
            code="title-capitals",
            span=first,
            message=f"Styles that write titles in lower case lose the capitals of "
            f"{', '.join([*names][:NAMED])}{more}: put braces around them.",
            keys=tuple(keys),
            edits=tuple(edits),
        )


def _is_braced(raw: str, at: int) -> bool:
    """Whether braces inside the value protect an offset."""
    return raw.count("{", 1, at) > raw.count("}", 1, at)


def _partly(
    code: str, names: Sequence[str], word: str, entries: Sequence[BibEntry]
) -> Iterator[Inconsistency]:
    words: list[str] = []
    different: list[BibEntry] = []
    for (venue, _), places in _by_venue(entries).items():
        having = [entry for entry, _ in places if any(map(entry.get, names))]
        lacking = [entry for entry, _ in places if not any(map(entry.get, names))]
        if len(places) < FEWEST or not having or not lacking:
            continue
        words.append(f"{len(having)} of {len(places)} entries of {shown_venue(venue)}")
        different += lacking if len(having) >= len(lacking) else having
    if words:
        more = f", and of {len(words) - NAMED} more venues" if len(words) > NAMED else ""
        yield Inconsistency(
            code=code,
            span=different[0].key_span,
            message=f"{', '.join(words[:NAMED])}{more} have {word}, the others none.",
            keys=tuple(one.key for one in different),
        )


def _arxiv(entries: Sequence[BibEntry]) -> Iterator[Inconsistency]:
    kinds: dict[str, list[BibEntry]] = defaultdict(list)
    for entry in entries:
        place = " ".join(map(entry.get, _PLACES))
        published = bool(place.strip()) and not re.search(r"arxiv|corr\b", place, re.IGNORECASE)
        if published or not (entry.body.arxiv or "arxiv" in place.lower()):
            continue
        journal = entry.get("journal")
        # A journal with the number is what is printed.
        shown = not entry.get("eprint") or re.search(r"\d{4}", journal)
        field = "journal" if journal and shown else "eprint" if entry.get("eprint") else "url"
        kinds[f"@{entry.type} with {field}"].append(entry)
    if len(kinds) < 2 or sum(map(len, kinds.values())) < FEWEST:
        return
    usual = max(kinds, key=lambda kind: len(kinds[kind]))
    others = [entry for kind, those in kinds.items() if kind != usual for entry in those]
    total = len(others) + len(kinds[usual])
    counts = sorted(((len(those), kind) for kind, those in kinds.items()), key=lambda one: -one[0])
    ways = ", ".join(f"{count} as {kind}" for count, kind in counts)
    yield Inconsistency(
        code="arxiv-kinds",
        span=others[0].key_span,
        message=f"{total} preprints on arXiv are entered in {len(kinds)} ways: {ways}.",
        keys=tuple(one.key for one in others),
    )


def _links(entries: Sequence[BibEntry]) -> Iterator[Inconsistency]:
    edits: list[TextEdit] = []
    keys: dict[str, None] = {}
    for entry in entries:
        for field in entry.fields_of(("doi", "url", "note", "howpublished")):
            pattern = _LINK if field.name == "doi" else _OLD_LINK
            for found in pattern.finditer(field.raw):
                keys[entry.key] = None
                start = field.value_span.start + found.start()
                new = "" if field.name == "doi" else "https://doi.org/"
                edits.append(TextEdit(Span(start, start + len(found[0])), new))
    if edits:
        yield Inconsistency(
            code="doi-link",
            span=edits[0].span,
            message=f"{len(keys)} {'entry has' if len(keys) == 1 else 'entries have'} a DOI as an "
            "old link, or a link in the doi field: write 10.1000/x there, and elsewhere "
            "https://doi.org/10.1000/x.",
            keys=tuple(keys),
            edits=tuple(edits),
        )


def _dates(entries: Sequence[BibEntry]) -> Iterator[Inconsistency]:
    by_kind: dict[str, list[BibEntry]] = defaultdict(list)
    for entry in entries:
        if entry.type not in ("misc", "online", "electronic"):
            by_kind[entry.type].append(entry)
    found: list[tuple[str, int, list[Any]]] = []
    for kind, those in by_kind.items():
        dated = [one for one in those if one.get("month") or one.get("date").count("-")]
        if len(those) < FEWEST or not 0 < len(dated) < len(those):
            continue
        others = [one for one in those if one not in dated]
        words = f"{len(dated)} of {len(those)} @{kind} entries"
        found.append((words, len(dated), others if len(dated) > len(others) else dated))
    if found:
        yield Inconsistency(
            code="dates-partly",
            span=found[0][2][0].key_span,
            message=f"{', '.join(words for words, _, _ in found[:NAMED])} have a month, the others "
            "none.",
            keys=tuple(one.key for _, _, those in found for one in those),
        )


_RULES: Mapping[str, Rule] = {
    "venue-spelling": _venues,
    "given-names": _given_names,
    "title-braces": _braces,
    "title-capitals": _capitals,
    "pages-partly": partial(_partly, "pages-partly", ("pages", "eid"), "pages"),
    "doi-partly": partial(_partly, "doi-partly", ("doi",), "a DOI"),
    "arxiv-kinds": _arxiv,
    "doi-link": _links,
    "dates-partly": _dates,
}
"""The rule of each code."""
