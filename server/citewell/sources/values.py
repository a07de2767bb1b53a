"""Conversion of foreign values for a `Work`, and of CSL and OpenAlex records to works."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from citewell.model import Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.languages import language_code
from citewell.model.names import parse_author
from citewell.model.tex import tex_to_unicode
from citewell.model.titles import fold, plain_title
from citewell.model.work import Author

MAX_TITLE = 2_000
MAX_TEXT = 1_000
MAX_ABSTRACT = 20_000
MAX_AUTHORS = 5_000
MAX_KEYWORDS = 50

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_TAGS = re.compile(r"<[^<>]{1,200}>")
_DASHES = re.compile(r"\s*(?:-{2,}|[–—‒−])\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def title(value: object) -> str:
    """A title without markup, at most 2,000 characters; empty for any other value."""
    return plain_title(_printable(value[:MAX_TITLE])) if isinstance(value, str) else ""


def text(value: object, limit: int = MAX_TEXT) -> str:
    """A short field: LaTeX markup resolved, blanks collapsed, cut at `limit` characters."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str):
        return ""
    value = _printable(value[: limit * 2])
    if "{" in value or "\\" in value or "}" in value:
        value = tex_to_unicode(value)
    return _squeezed(value)[:limit]


def raw(value: object, limit: int = MAX_TEXT) -> str:
    """An identifier, key or address: trimmed, otherwise unchanged."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return _printable(value[:limit]).strip() if isinstance(value, str) else ""


def language(value: object) -> str:
    """ISO 639-1 code of the first language in a text or a list of texts; else empty."""
    if isinstance(value, list):
        return next((code for one in value if (code := language(one))), "")
    return language_code(value) if isinstance(value, str) else ""


def keywords(value: object) -> tuple[str, ...]:
    """The distinct keywords of a text, which semicolons or else commas separate, or of a list of
    texts or of objects with a `display_name`; at most 50."""
    if isinstance(value, str):
        value = value.split(";" if ";" in value else ",")
    listed = value if isinstance(value, list | tuple) else ()
    found = dict.fromkeys(
        text(one.get("display_name") if isinstance(one, dict) else one, 200) for one in listed
    )
    return tuple(one for one in found if one)[:MAX_KEYWORDS]


def pages(value: object) -> str:
    """Page range with a plain hyphen: "225--240" and "225–240" become "225-240"."""
    plain = text(value, 100)
    return plain if plain.replace("-", "", 1).isalnum() else _DASHES.sub("-", plain)


def abstract(value: object) -> str:
    """An abstract without tags, blanks collapsed, cut at 20,000 characters."""
    if not isinstance(value, str):
        return ""
    plain = _printable(value[:MAX_ABSTRACT])
    if "<" in plain:
        plain = _TAGS.sub(" ", plain)
    return _squeezed(plain)


def year(value: object) -> int | None:
    """The year in a number or a date; None outside 1500 to 2099."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 1500 <= value <= 2099 else None
    found = _YEAR.search(value) if isinstance(value, str) else None
    return int(found.group()) if found else None


def count(value: object) -> int | None:
    """A number of citations; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return min(value, 2**31 - 1)


def authors(names: Iterable[object]) -> tuple[Author, ...]:
    """Authors from display names; other values are left out."""
    parsed = (parse_author(text(name, 300)) for name in names if isinstance(name, str))
    return tuple(islice((author for author in parsed if author.family), MAX_AUTHORS))


def today() -> str:
    """Today's date, for records retrieved from a source."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _printable(value: str) -> str:
    """The text without control characters, which hardly any text has: they are checked first."""
    return value if value.isprintable() else _CONTROL.sub("", value)


def _squeezed(value: str) -> str:
    if "  " in value or not value.isprintable():
        return " ".join(value.split())
    return value.strip()


def mapping(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def first_mapping(value: object) -> dict[str, Any]:
    """The first of a list of JSON objects, or an empty one."""
    return mapping(value[0]) if isinstance(value, list) and value else {}


# Malformed author names: an e-mail address, markup, several people in one.
#
# Stricter than `malformed`, which also calls a list of sound names damaged if one occurs twice. A
# match keeps a paper out of search; therefore unusual names count as sound: organisations,
# mononyms, long names, nicknames in parentheses, footnote marks.

_LONGEST = 80
"""Maximum characters of a person's name."""
_LONGEST_ORGANISATION = 160
_MOST_WORDS = 7
"""Maximum capitalised words of a person's name, without initials and particles."""
_INSTITUTION = (
    r"universit|\buniv\.|\binstitut|\bdepartment|\bdept\b|\bfaculty of|\blaborator|\bschool of"
    r"|\bcollege of|\bhospital"
)
_MARKS = re.compile(r"[@<>{}\\=|;\x00-\x09\x0b-\x1f\x7f-\x9f\ufffd]")
_SUSPECT_TEXTS = (
    "http", "www.", "et al", "et. al", "etal", "others", " and ", " & ", "universit", "univ.",
    "institut", "department", "dept", "faculty of", "laborator", "school of", "college of",
    "hospital",
)  # fmt: skip
_LONG = 40
"""A list without a name longer than this, and without the marks and texts above, has no malformed
name."""
_REASONS = (
    ("e-mail address", re.compile(r"\S@[\w-]+\.\w")),
    ("web address", re.compile(r"https?:|\bwww\.", re.IGNORECASE)),
    ("markup", re.compile(r"[<>{}\\=|]")),
    ("control character", re.compile(r"[\x00-\x1f\x7f-\x9f\ufffd]")),
    ("“et al.”", re.compile(r"\bet\.?\s*al\b|^(?:and )?others$", re.IGNORECASE)),
    ("several names in one", re.compile(r";")),
    ("affiliation", re.compile(rf"\([^()]*(?:{_INSTITUTION})", re.IGNORECASE)),
)
_INSTITUTION_WORD = re.compile(_INSTITUTION, re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_][^\W\d_'’.-]+(?:[-'’][^\W\d_]+)*")
_TWO_PEOPLE = re.compile(r"\S+\s+\S.*\s(?:and|&)\s\S+\s+\S")
_OF_ORGANISATIONS = frozenset(
    """
    of for the on team group consortium collaboration committee association society project network
    center centre council board lab laboratory labs program programme initiative agency ministry
    organization organisation foundation institute university department company inc ltd gmbh corp
    corporation federation union office bureau service services academy commission workshop
    """.split()
)


class MalformedName(msgspec.Struct, frozen=True):
    """A malformed name, as in the record, and the reason."""

    name: str
    reason: str
    """For example "e-mail address"."""


def malformed_name(authors: Sequence[Author]) -> MalformedName | None:
    """The first malformed name in a list of authors, or None."""
    if not _may_have_one(authors):
        return None
    for author in authors:
        if reason := _reason(author):
            return MalformedName(author.display, reason)
    return None


def _may_have_one(authors: Sequence[Author]) -> bool:
    """False if none of the names can be malformed: a quick test, for every work of a library."""
    names = []
    for author in authors:
        name = f"{author.given} {author.family} {author.suffix}"
        if len(name) > _LONG or not (author.given or author.family)[:1].isalpha():
            return True
        names.append(name)
    text = "\n".join(names)
    if _MARKS.search(text) is not None:
        return True
    text = text.lower()
    for one in _SUSPECT_TEXTS:  # noqa: SIM110 - a third of the time of any()
        if one in text:
            return True
    return False


def _reason(author: Author) -> str:
    name = html.unescape(author.display)
    if _LETTER.search(name) is None:
        return "no letters"
    found = next((reason for reason, pattern in _REASONS if pattern.search(name)), "")
    if found:
        return found
    if _is_affiliation(author):
        return "affiliation"
    if author.given and _is_of_several(name):
        return "several names in one"
    longest = _LONGEST if author.given else _LONGEST_ORGANISATION
    return f"longer than {longest} characters" if len(name) > longest else ""


def _is_affiliation(author: Author) -> bool:
    """True for "Ann Ash, University of Leeds", parsed as a family and a given name."""
    family = author.family.strip()
    if " " not in family or not family[0].isupper():
        return False
    return _INSTITUTION_WORD.search(author.given) is not None


def _is_of_several(name: str) -> bool:
    words = name.replace(",", " ").split()
    if not _OF_ORGANISATIONS.isdisjoint(word.lower().strip(".") for word in words):
        return False
    if _TWO_PEOPLE.search(name):
        return True
    full = [word for word in words if word[0].isupper() and _WORD.fullmatch(word)]
    return len(full) > _MOST_WORDS


# Author lists that were damaged in a record.
#
# These lists are no evidence: they are displayed, but never held against a reference.

"""Letters of the longest real personal names; longer ones are several names run together."""
_DAMAGED = re.compile(r"[;\\{}<>@=|*†‡]")
_WORDS = re.compile(r"\bet\.?\s*al\b|https?:", re.IGNORECASE)


def is_malformed(authors: Sequence[Author]) -> bool:
    """True for a list with markup in a name, a name twice, or every name cut into two.

    An organisation or a mononym among other names is sound, and so is an empty list.
    """
    shown = [html.unescape(author.display) for author in authors]
    if any(_is_broken(name) for name in shown):
        return True
    if len({fold(name) for name in shown}) < len(shown):
        return True
    # "Family; Given" that was split at the semicolon leaves single words only.
    single = [author for author in authors if not author.given and " " not in author.family]
    return len(authors) > 1 and len(single) == len(authors)


def _is_broken(name: str) -> bool:
    if len(name) > _LONGEST or _DAMAGED.search(name) is not None:
        return True
    if not name[:1].isalpha() and _LETTER.search(name) is None:
        return True
    # Every record of an import comes here; these two tests are cheaper than the pattern.
    low = name.lower()
    may_match = "http" in low or ("et" in low and "al" in low)
    return may_match and _WORDS.search(name) is not None


# Works in exchange formats: read from CSL-JSON, as written by Zotero, Mendeley, pandoc and DOI
# resolvers; and written as JSON lines, in which the answers of sources are stored.

_KINDS = {
    "article-journal": "article",
    "article-magazine": "article",
    "article-newspaper": "article",
    "article": "misc",
    "paper-conference": "inproceedings",
    "chapter": "incollection",
    "book": "book",
    "thesis": "phdthesis",
    "report": "techreport",
    "manuscript": "unpublished",
}


def work_of_csl(item: dict[str, Any], place: str, source: str, day: str) -> Work | str:
    """The work of one CSL item, or the reason why it has none. `place` keeps ids of several files
    distinct."""
    named = title(item.get("title"))
    key = raw(item.get("citation-key") or item.get("citekey") or "")
    identity = raw(item.get("id")) or key
    if not named:
        return "The item has no title."
    kind = _KINDS.get(raw(item.get("type")), "misc")
    container = text(item.get("container-title"))
    url = raw(item.get("URL"))
    doi = normalise_doi(raw(item.get("DOI"))) or normalise_doi(url)
    identifier = f"csl:{place}:{identity or named[:80]}"
    return Work(
        id=identifier,
        title=named,
        authors=csl_authors(item.get("author")),
        year=csl_year(item.get("issued")),
        kind=kind,
        venue=text(item.get("event-title") or item.get("container-title-short"), 200),
        booktitle=container if kind in ("inproceedings", "incollection") else "",
        journal=container if kind in ("article", "misc") else "",
        volume=text(item.get("volume"), 60),
        issue=text(item.get("issue"), 60),
        pages=pages(item.get("page")),
        publisher=text(item.get("publisher")),
        doi=doi,
        arxiv=arxiv_id(doi) or arxiv_id(url) or arxiv_id(text(item.get("number"))),
        url=url,
        bibkey=key,
        abstract=abstract(item.get("abstract")),
        language=language(item.get("language")),
        keywords=keywords(item.get("keyword")),
        same_as=(identifier,),
        provenance=(Provenance(source=source, source_id=identity, retrieved=day),),
    )


def csl_authors(value: object) -> tuple[Author, ...]:
    """Names in CSL's form, which Crossref shares; an organisation has a name alone."""
    people = []
    for name in value[:MAX_AUTHORS] if isinstance(value, list) else ():
        if not isinstance(name, dict):
            continue
        family = text(name.get("family") or name.get("literal") or name.get("name"), 300)
        particle = text(name.get("non-dropping-particle") or name.get("dropping-particle"), 60)
        if family:
            people.append(
                Author(
                    family=f"{particle} {family}" if particle else family,
                    given=text(name.get("given"), 300),
                    suffix=text(name.get("suffix"), 60),
                )
            )
    return tuple(people)


def csl_year(value: object) -> int | None:
    """The year of a CSL date, also in older forms: a number, a text, a list."""
    if isinstance(value, list):
        return next((found for one in value[:3] if (found := csl_year(one))), None)
    if not isinstance(value, dict):
        return year(value)
    known = (value.get(name) for name in ("date-parts", "year", "raw", "literal", "edtf", "date"))
    return next((found for one in known if (found := csl_year(one))), None)


_FIELDS = (
    *("id", "title", "year", "venue", "booktitle", "journal", "volume", "issue", "pages"),
    *("publisher", "doi", "arxiv", "url", "bibkey", "abstract", "kind", "citations", "language"),
    *("keywords", "retracted", "notice"),
)
_ENCODER = msgspec.json.Encoder()


def record_line(work: Work) -> bytes:
    """The JSON of one work in the form that the importer `records` reads."""
    record = {name: value for name in _FIELDS if (value := getattr(work, name))}
    record["authors"] = [_name(author) for author in work.authors]
    record["source"] = work.provenance[0].source if work.provenance else ""
    if work.provenance:
        record["provenance"] = work.provenance
    return _ENCODER.encode(record)


def _name(author: Author) -> str:
    parts = [part for part in (author.family, author.suffix, author.given) if part]
    # Braces protect the name of an organisation from being split.
    return ", ".join(parts) if author.given else f"{{{author.family}}}"


# An OpenAlex work object as a `Work`: the same in its snapshot and in its API.
#
# https://docs.openalex.org/api-entities/works/work-object

_OPENALEX_KINDS = {
    "book": "book",
    "book-chapter": "incollection",
    "dissertation": "phdthesis",
    "report": "techreport",
}
_MAX_POSITION = 20_000
DELETED_WORK = "W4285719527"
"""The record "Deleted Work", into which OpenAlex merges deleted works. The references of millions
of works still name it."""


def work_of_openalex(record: dict[str, Any], day: str) -> Work | str:
    """The work of one OpenAlex record, or the reason why it is none."""
    identity = raw(record.get("id")).rpartition("/")[2]
    named = title(record.get("title") or record.get("display_name"))
    if not identity.startswith("W"):
        return "The record has no OpenAlex id."
    if identity == DELETED_WORK:
        return "The record stands for deleted works."
    if not named:
        return "The record has no title."
    place = mapping(record.get("primary_location")) or mapping(record.get("host_venue"))
    source = mapping(place.get("source")) or place
    kind, booktitle, journal = _published_in(record, source)
    biblio = mapping(record.get("biblio"))
    doi = normalise_doi(raw(record.get("doi")))
    url = raw(place.get("landing_page_url") or place.get("url"))
    identifier = f"openalex:{identity}"
    return Work(
        id=identifier,
        title=named,
        authors=authors(_names(record.get("authorships"))),
        year=year(record.get("publication_year")) or year(record.get("publication_date")),
        kind=kind,
        booktitle=booktitle,
        journal=journal,
        volume=text(biblio.get("volume"), 60),
        issue=text(biblio.get("issue"), 60),
        pages=_pages(biblio),
        publisher=text(source.get("host_organization_name") or source.get("publisher")),
        doi=doi,
        arxiv=_arxiv(record, doi, url),
        url=url or (f"https://doi.org/{doi}" if doi else raw(record.get("id"))),
        abstract=abstract_of(record.get("abstract_inverted_index")),
        citations=count(record.get("cited_by_count")),
        language=language(record.get("language")),
        keywords=keywords(record.get("keywords")),
        retracted=record.get("is_retracted") is True,
        same_as=(identifier,),
        provenance=(Provenance(source="openalex", source_id=identity, retrieved=day),),
    )


def abstract_of(index: object) -> str:
    """The text of an inverted index {word: [positions]}; positions above 20,000 are left out."""
    if not isinstance(index, dict):
        return ""
    words: dict[int, str] = {}
    for word, positions in index.items():
        for position in positions if isinstance(positions, list) else ():
            if isinstance(position, int) and 0 <= position < _MAX_POSITION:
                words[position] = word
    return abstract(" ".join(words[position] for position in sorted(words)))


def _published_in(record: dict[str, Any], source: dict[str, Any]) -> tuple[str, str, str]:
    """Kind, book title, journal."""
    name = text(source.get("display_name"))
    kind = raw(record.get("type"))
    if kind in _OPENALEX_KINDS:
        return _OPENALEX_KINDS[kind], name if kind == "book-chapter" else "", ""
    where = raw(source.get("type"))
    if where == "repository" or kind == "preprint":
        return "misc", "", ""
    if where in ("conference", "book series") or kind in ("proceedings-article",):
        return "inproceedings", name, ""
    return ("article", "", name) if name else ("misc", "", "")


def _names(authorships: object) -> Iterator[object]:
    for authorship in authorships if isinstance(authorships, list) else ():
        if isinstance(authorship, dict):
            author = mapping(authorship.get("author"))
            yield author.get("display_name") or authorship.get("raw_author_name")


def _pages(biblio: dict[str, Any]) -> str:
    first, last = (text(biblio.get(name), 40) for name in ("first_page", "last_page"))
    return f"{first}-{last}" if first and last and first != last else first


def _arxiv(record: dict[str, Any], doi: str, url: str) -> str:
    found = arxiv_id(doi) or arxiv_id(url)
    for place in record.get("locations") or ():
        if found:
            break
        found = arxiv_id(raw(mapping(place).get("landing_page_url")))
    return found
