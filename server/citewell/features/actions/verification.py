"""Actions for a wrong reference: corrections from its record.

They replace one field, all fields in question, or the whole entry; the key, the user's own fields
and all other bytes stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from citewell.documents.bib.edit import EntryEdit
from citewell.documents.bib.reader import parse_bib, wrong_edit
from citewell.documents.bib.style import BibStyle, detect_style, entry_content, name_text
from citewell.documents.latex.plaintext import escape
from citewell.documents.textfile import apply_edits, read_text
from citewell.features.action import QUICK_FIX, REWRITE, Action
from citewell.features.checking.check import counts, place_of
from citewell.features.citing.write import unified_diff
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.check import INVENTED, Check, Claim, FieldFinding, Verdict
from citewell.model.display_text import shorten
from citewell.model.document import Span
from citewell.model.fields import BIB_FIELDS, VENUE_FIELDS, with_trait
from citewell.model.names import author_pieces, ends_with_others, parse_author, split_authors
from citewell.model.titles import plain_title, title_key
from citewell.model.work import Author, Work
from citewell.verification.claims import claim_of_entry
from citewell.verification.people import Difference, NamePair, compare_people, pair_names

# An author field with the names of a record, in the author's own spelling if it has them.

_SPELLING = frozenset({"author-given", "author-swapped", "author-spelling"})
_ADDED = frozenset({"author-added", "author-replaced", "author-unrelated", "author-anonymous"})


class _Piece(msgspec.Struct, frozen=True):
    text: str
    place: int
    """Index of the record's name; -1 for a name that the record lacks."""


def corrected_authors(field: str, record: Sequence[Author], code: str) -> str:
    """The BibTeX name list `field`, without delimiters, corrected for a finding of this code.

    Missing names of the record are inserted at their positions there; names that it lacks are
    removed if the finding says so; the order becomes the record's if the finding is about it. Every
    other name keeps its bytes. "and others" stays last, and then nothing is inserted.
    """
    pieces, joint = author_pieces(field)
    others = bool(pieces) and pieces[-1].strip(" \t\r\n{}").lower() == "others"
    names = pieces[:-1] if others else pieces
    pairs = pair_names([parse_author(name) for name in names], record)
    plain = _given_first(names)
    kept = [
        _Piece(_respelt(name, pair, record, code, plain), pair.place)
        for name, pair in zip(names, pairs, strict=True)
        if pair.place >= 0 or code not in _ADDED
    ]
    if code == "author-order":
        kept = _in_order(kept)
    if others and code == "author-order":
        kept = _from_the_first(kept, record, plain)
    elif not others:
        kept = _completed(kept, record, plain)
    if not any(pair.place >= 0 for pair in pairs):
        return joint.join(_written(author, plain) for author in record)
    texts = [piece.text for piece in kept]
    if others:
        texts.append("others")
    return joint.join(texts)


def _given_first(names: Sequence[str]) -> bool:
    """True when the list has the form "Ada Lovelace", not "Lovelace, Ada"."""
    with_comma = sum("," in name for name in names)
    return 2 * with_comma < len(names)


def _respelt(name: str, pair: NamePair, record: Sequence[Author], code: str, plain: bool) -> str:
    if code in _SPELLING and pair.place >= 0 and not pair.alike:
        return _written(record[pair.place], plain)
    return name


def _written(author: Author, plain: bool) -> str:
    text = name_text(author)
    one_word = " " not in author.family.strip() and not author.suffix
    if plain and author.given and one_word and text.count(",") == 1:
        family, _, given = text.partition(", ")
        return f"{given} {family}"
    return text


def _in_order(kept: Sequence[_Piece]) -> list[_Piece]:
    """The names found in the record, in its order; the others stay in place."""
    known = iter(sorted((piece for piece in kept if piece.place >= 0), key=lambda p: p.place))
    return [next(known) if piece.place >= 0 else piece for piece in kept]


def _from_the_first(kept: Sequence[_Piece], record: Sequence[Author], plain: bool) -> list[_Piece]:
    """The names completed up to the last one kept: "and others" may replace only later ones."""
    last = max((piece.place for piece in kept), default=-1)
    return _completed(kept, record[: last + 1], plain)


def _completed(kept: Sequence[_Piece], record: Sequence[Author], plain: bool) -> list[_Piece]:
    """The names completed from the record, each inserted after the names that precede it there."""
    done = list(kept)
    held = {piece.place for piece in kept}
    for place, author in enumerate(record):
        if place in held:
            continue
        before = [n for n, piece in enumerate(done) if 0 <= piece.place < place]
        at = max(before) + 1 if before else 0
        done.insert(at, _Piece(_written(author, plain), place))
    return done


FIELD, FIELDS, REPLACE, PUBLISHED, DOI = "field", "fields", "replace", "published", "doi"
_OF_THE_WORK = with_trait("of_work")
"""Fields that are unreliable if the reference is fabricated."""
_PREPRINT = re.compile(r"arxiv|corr\b", re.IGNORECASE)
_YEAR = re.compile(r"\d{4}")


def actions_on(
    bib: BibFile, entry: BibEntry, check: Check, style: BibStyle | None = None
) -> list[Action]:
    """The actions for an entry, the likeliest first. Who asks about many entries gives the file's
    `style`, which takes long to detect."""
    if bib.is_csl:  # the ranges of its fields do not belong to a text
        return []
    style = style or detect_style(bib)
    named: dict[str, str | int] = {"key": entry.key, "start": entry.start}
    found: list[Action] = []
    hints = list(_corrections(entry, check, _content(check, style)))
    for finding, field, value in hints:
        what = BIB_FIELDS[field].label or field if field in BIB_FIELDS else field
        found.append(
            Action(
                title=f"Use the record's {what}: {shorten(plain_title(value), 60)}",
                kind=QUICK_FIX,
                name=FIELD,
                arguments={**named, "code": finding.code},
                fixes=(finding.code,),
                span=_span(entry, field),
                is_preferred=len(hints) == 1 and check.verdict is Verdict.WRONG_DETAIL,
            )
        )
    work = check.work
    if work is None:
        return found
    counted = tuple(dict.fromkeys(f.code for f in check.findings if counts(f)))
    wrong = [finding.code for finding, _, _ in hints if counts(finding)]
    if len(wrong) > 1 and check.verdict is Verdict.WRONG_DETAIL:
        codes = tuple(wrong)
        title = f"Use all {len(wrong)} values of the record"
        found.insert(0, _action(title, FIELDS, named, codes, entry, preferred=True))
    if any(f.code == "preprint-published" for f in check.findings):
        kind, fields = entry_content(work, style)
        venue = fields.get("booktitle") or fields.get("journal") or kind
        title = f"Cite the published version: {shorten(plain_title(venue), 60)}, {work.year}"
        found.append(_action(title, PUBLISHED, named, ("preprint-published",), entry))
    if (
        check.findings
        and check.verdict is not Verdict.NOT_FOUND
        and edits_for(bib, entry, check, REPLACE, style=style)
    ):
        title = f"Replace with the record of “{shorten(work.title, 60)}”"
        found.append(_action(title, REPLACE, named, counted, entry))
    if work.doi and not entry.body.doi and not _may_be_another_version(check):
        title = f"Add the DOI: {work.doi}"
        found.append(_action(title, DOI, named, (), entry, kind=REWRITE))
    return found


_VERSION = re.compile(r"(?:venue|year|author|title)-(?!spelling|given|cut|subtitle)")


def _may_be_another_version(check: Check) -> bool:
    """True when the DOI of the record may be that of another version than the cited one."""
    return any(_VERSION.match(finding.code) for finding in check.findings)


def _action(
    title: str,
    name: str,
    arguments: Mapping[str, str | int],
    codes: tuple[str, ...],
    entry: BibEntry,
    *,
    kind: str = QUICK_FIX,
    preferred: bool = False,
) -> Action:
    return Action(
        title=title,
        kind=kind,
        name=name,
        arguments=dict(arguments),
        fixes=codes,
        span=entry.span,
        is_preferred=preferred,
    )


def _content(check: Check, style: BibStyle) -> dict[str, str]:
    """The fields of the record in the file's style; empty without a record."""
    return {} if check.work is None else entry_content(check.work, style)[1]


def edits_for(
    bib: BibFile,
    entry: BibEntry,
    check: Check,
    name: str,
    code: str = "",
    *,
    style: BibStyle | None = None,
) -> tuple[TextEdit, ...]:
    """The edits of one of the actions; none if there is nothing to do."""
    if check.work is None or bib.is_csl:
        return ()
    style = style or detect_style(bib)
    edit = EntryEdit(bib, entry, style)
    content = _content(check, style)
    kind, _ = entry_content(check.work, style)
    if name in (FIELD, FIELDS):
        for finding, field, value in _corrections(entry, check, content):
            if finding.code == code if name == FIELD else counts(finding):
                _set_field(edit, kind, content, field, value)
                if name == FIELDS and field in VENUE_FIELDS:
                    _set_year(edit, entry, content)
        return edit.edits
    if name == DOI:
        edit.set("doi", content["doi"])
    elif name == PUBLISHED:
        _publish(edit, entry, check.work, kind, content)
    elif name == REPLACE:
        _replace(edit, entry, check, kind, content)
    return edit.edits


def _corrections(
    entry: BibEntry, check: Check, content: Mapping[str, str]
) -> Iterator[tuple[FieldFinding, str, str]]:
    """The findings resolved by a new value of one field, each with that field and value."""
    spans = {field.name: field.value_span for field in entry.fields}
    taken: set[str] = set()
    for finding in check.findings:
        value = _value(finding, content)
        field = place_of(finding, spans)
        if field == "author" and check.work is not None:
            value = _authors(entry, check.work, finding.code)
        if not value or field in taken or field in ("url", "editor"):
            continue
        if field == "date":
            value = _YEAR.sub(value, entry.get("date"), count=1)
        if not field:
            field = finding.field
            if field in ("author", "title") or not field.isidentifier():
                continue
        taken.add(field)
        yield finding, field, value


def _authors(entry: BibEntry, work: Work, code: str) -> str:
    """The author field corrected for one finding; empty for a field that contains macros."""
    raw = next((field.raw for field in entry.fields if field.name == "author"), "")
    if raw[:1] not in ("{", '"') or "#" in raw:
        return ""
    return corrected_authors(raw[1:-1], work.authors, code)


def _set_field(
    edit: EntryEdit, kind: str, content: Mapping[str, str], field: str, value: str
) -> None:
    """Set one field's value; a venue is set in its proper field, which determines the entry
    type."""
    own = "journal" if "journal" in content else "booktitle"
    if field in VENUE_FIELDS and own in content:
        same = field == own or (own == "journal" and field == "journaltitle")
        if not same:
            edit.remove(field)
            edit.retype(kind)
            edit.set(own, content[own])
            return
        value = content[own]
    edit.set(field, value)


def _set_year(edit: EntryEdit, entry: BibEntry, content: Mapping[str, str]) -> None:
    """Set the year of a corrected venue, if the entry has its own year."""
    if {"year", "date"} & set(entry.names) and "year" in content:
        _set_all(edit, entry, {"year": content["year"]})


def _value(finding: FieldFinding, content: Mapping[str, str]) -> str:
    """The record's value for a finding, in LaTeX."""
    field, expected = finding.field, finding.expected
    if finding.code == "retracted" or not expected:
        return ""
    if field in ("title", "author", "pages"):
        return content.get(field, "")
    if field == "year" and not _YEAR.fullmatch(expected):
        return ""
    if field in ("year", "doi", "eprint"):
        return expected
    return escape(expected) if field in (*VENUE_FIELDS, "volume", "number") else ""


def _publish(
    edit: EntryEdit, entry: BibEntry, work: Work, kind: str, content: Mapping[str, str]
) -> None:
    """Turn a preprint into the paper: type, title, authors, venue, year and place. A title or an
    author list that is already the paper's stays as written."""
    edit.retype(kind)
    kept = {"booktitle", "journal", "year", "volume", "number", "pages", "publisher", "doi"}
    if entry.body.title_key != title_key(work.title):
        kept.add("title")
    values = {name: value for name, value in content.items() if name in kept}
    authors = _published_authors(entry, work)
    if authors:
        values["author"] = authors
    _set_all(edit, entry, values)
    journal = "journal" in content and "journal" not in entry.names
    for name in ("howpublished", "note", *VENUE_FIELDS):
        if name in content or (name == "journaltitle" and journal):
            continue
        if name in VENUE_FIELDS or _PREPRINT.search(entry.get(name)):
            edit.remove(name)
    if _PREPRINT.search(entry.get("volume")) and "volume" not in content:
        edit.remove("volume")


def _published_authors(entry: BibEntry, work: Work) -> str:
    """The paper's authors if they differ from the preprint's, else ""."""
    given = split_authors(entry.get("author"))
    people = compare_people(given, work.authors, others=ends_with_others(entry.get("author")))
    difference = people.difference
    if difference in (Difference.SAME, Difference.UNKNOWN):
        misnamed = len(people.other_given) > 1 or len(people.swapped) > 1
        return _authors(entry, work, "author-given") if misnamed else ""
    pairs = {Difference.ORDER: "author-order", Difference.MISSING: "author-missing",
             Difference.CUT: "author-missing"}  # fmt: skip
    names = _authors(entry, work, pairs.get(difference, "author-replaced"))
    return _authors_in_order(names, work) if names else ""


def _authors_in_order(names: str, work: Work) -> str:
    return corrected_authors(names, work.authors, "author-order")


def _replace(
    edit: EntryEdit, entry: BibEntry, check: Check, kind: str, content: Mapping[str, str]
) -> None:
    """Replace all content by the record's; correct values stay as written, and so do the user's own
    fields. Of a fabricated entry only the title is right."""
    edit.retype(kind)
    invented = check.verdict in INVENTED
    wrong = {finding.field for finding in check.findings}
    right = {name for name in entry.names if not invented and name not in wrong}
    right.discard("year")  # that of the preprint differs from the paper's
    if check.work is not None and entry.body.title_key == title_key(check.work.title):
        right.add("title")
    _set_all(edit, entry, {name: value for name, value in content.items() if name not in right})
    doubted: Iterable[str] = (finding.field for finding in check.findings if counts(finding))
    if invented:
        doubted = (*doubted, *_OF_THE_WORK)
    for name in (*doubted, *VENUE_FIELDS):
        if name not in content and name in entry.names:
            edit.remove(name)


def _set_all(edit: EntryEdit, entry: BibEntry, content: Mapping[str, str]) -> None:
    names = entry.names
    for name, value in content.items():
        if name == "year" and "year" not in names and "date" in names:
            if _YEAR.search(entry.get("date")):
                edit.set("date", _YEAR.sub(value, entry.get("date"), count=1))
            continue
        if name == "journal" and "journal" not in names and "journaltitle" in names:
            edit.set("journaltitle", value)
            continue
        edit.set(name, value)


def _span(entry: BibEntry, field: str) -> Span:
    return next((f.value_span for f in entry.fields if f.name == field), entry.key_span)


class EntryId(msgspec.Struct, frozen=True):
    """The entry that an action was offered for."""

    key: str
    start: int

    def find(self, bib: BibFile) -> BibEntry | None:
        """The entry with this key closest to its old position."""
        same = [entry for entry in bib.entries if entry.key == self.key]
        return min(same, key=lambda entry: abs(entry.start - self.start), default=None)


# Corrections of checked .bib files: planned together, checked again, then written or shown.
#
# A fix is safe when it changes only fields of a finding, and the check then passes the entry.
# Unsafe fixes (the published version of a preprint, notes) are made on request.

Recheck = Callable[[Sequence[Claim]], Sequence[Check]]
"""Checks claims again and returns the results in their order."""


class FixedEntry(msgspec.Struct, frozen=True):
    """One entry and its fix."""

    path: str
    line: int
    key: str
    codes: tuple[str, ...]
    """Codes of the findings that the fix addresses."""
    safe: bool = True


class FixPlan(msgspec.Struct, frozen=True):
    """The corrections of some files; nothing is written yet."""

    fixed: tuple[FixedEntry, ...] = ()
    left: tuple[FixedEntry, ...] = ()
    """Entries with findings that no fix resolves, or only one that was not requested."""
    edits: tuple[FileEdit, ...] = ()
    diffs: tuple[str, ...] = ()
    """A unified diff of each edit, in the same order."""
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By path: the text that the edits of that file refer to."""
    again: Callable[[], FixPlan] | None = None
    """Repeats the plan for the current files."""


class _Try(msgspec.Struct):
    entry: BibEntry
    codes: tuple[str, ...]
    edits: tuple[TextEdit, ...]
    safe: bool


def plan_fixes(
    checks: Sequence[Check], recheck: Recheck, *, unsafe: bool = False, root: Path | None = None
) -> FixPlan:
    """Plan the fixes of all checked entries that are in .bib files.

    With `unsafe`, include fixes that replace more than the fields in question. Paths in diffs are
    relative to `root` if they are below it. Raises `FileError` for a file that cannot be read.
    """
    plan = FixPlan()
    by_file: dict[str, list[Check]] = {}
    for check in checks:
        if check.claim.path.lower().endswith((".bib", ".bibtex")) and _asks(check, unsafe):
            by_file.setdefault(check.claim.path, []).append(check)
    for path, found in by_file.items():
        plan = _joined(plan, _of_file(path, found, recheck, unsafe, root))
    return plan


def _asks(check: Check, unsafe: bool) -> bool:
    if check.verdict in (Verdict.NOT_FOUND, Verdict.UNCHECKED):
        return False
    return check.verdict is not Verdict.VERIFIED or (unsafe and bool(check.findings))


def _of_file(
    path: str, checks: Sequence[Check], recheck: Recheck, unsafe: bool, root: Path | None
) -> FixPlan:
    bib = parse_bib(read_text(Path(path)).text, path)
    return _of_bib(bib, checks, recheck, unsafe, root)


def plan_text_fixes(
    text: str, name: str, checks: Sequence[Check], recheck: Recheck, *, unsafe: bool = False
) -> FixPlan:
    """Plan the fixes of the checked entries of a .bib given as text; `name` is its path in claims
    and diffs. Nothing is read."""
    wanted = [check for check in checks if _asks(check, unsafe)]
    return _of_bib(parse_bib(text, name), wanted, recheck, unsafe, None)


def _of_bib(
    bib: BibFile, checks: Sequence[Check], recheck: Recheck, unsafe: bool, root: Path | None
) -> FixPlan:
    style = detect_style(bib)
    tries: list[_Try] = []
    left: list[FixedEntry] = []
    for check in checks:
        start = check.claim.span.start if check.claim.span is not None else 0
        entry = EntryId(check.claim.key, start).find(bib)
        if entry is None:
            continue
        codes = tuple(one.code for one in check.findings if counts(one))
        done = None
        for name in _ways(check, unsafe):
            edits = edits_for(bib, entry, check, name, style=style)
            if edits and _passes(bib, edits, entry, recheck):
                done = _Try(entry, codes or ("preprint-published",), edits, name == FIELDS)
                break
        if done is not None:
            tries.append(done)
        elif codes:
            left.append(_named(bib, entry, codes))
    return _planned(bib, tries, left, root)


def _ways(check: Check, unsafe: bool) -> list[str]:
    """The fixes to try, the smallest first. No fix of a fabricated entry is safe."""
    if check.work is None:
        return []
    ways = [FIELDS] if check.verdict is Verdict.WRONG_DETAIL else []
    if unsafe and any(one.code == "preprint-published" for one in check.findings):
        ways.append(PUBLISHED)
    if unsafe and check.verdict is not Verdict.VERIFIED:
        ways.append(REPLACE)
    return ways


def _passes(bib: BibFile, edits: Sequence[TextEdit], entry: BibEntry, recheck: Recheck) -> bool:
    """True when only the entry changes, and the check then passes it."""
    if wrong_edit(bib, FileEdit(bib.path, tuple(edits))) is not None:
        return False
    after = parse_bib(apply_edits(bib.text, edits), bib.path)
    changed = EntryId(entry.key, entry.start).find(after)
    if changed is None:
        return False
    (check,) = recheck([claim_of_entry(after, changed)])
    return check.verdict is Verdict.VERIFIED and not any(map(counts, check.findings))


def _planned(
    bib: BibFile, tries: Sequence[_Try], left: Sequence[FixedEntry], root: Path | None
) -> FixPlan:
    fixed = tuple(
        msgspec.structs.replace(_named(bib, one.entry, one.codes), safe=one.safe) for one in tries
    )
    if not tries:
        return FixPlan(left=tuple(left))
    every = sorted((edit for one in tries for edit in one.edits), key=lambda edit: edit.span)
    shown = Path(bib.path)
    if root is not None and shown.resolve().is_relative_to(root.resolve()):
        shown = shown.resolve().relative_to(root.resolve())
    diff = unified_diff(bib.text, apply_edits(bib.text, every), shown.as_posix())
    edit = FileEdit(bib.path, tuple(every))
    return FixPlan(fixed, tuple(left), (edit,), (diff,), {bib.path: bib.text})


def _named(bib: BibFile, entry: BibEntry, codes: tuple[str, ...]) -> FixedEntry:
    return FixedEntry(bib.path, bib.text.count("\n", 0, entry.start) + 1, entry.key, codes)


def _joined(one: FixPlan, other: FixPlan) -> FixPlan:
    return FixPlan(
        (*one.fixed, *other.fixed),
        (*one.left, *other.left),
        (*one.edits, *other.edits),
        (*one.diffs, *other.diffs),
        {**one.texts, **other.texts},
    )
