"""The LaTeX commands and environments known to the scanner, by the package that defines them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from citewell.model.document import Span


def words(text: str) -> frozenset[str]:
    """The words of a string, as a short way to write a long set of names."""
    return frozenset(text.split())


class CiteCommand(msgspec.Struct, frozen=True):
    """A cite command and the form of its arguments. Optional arguments (`[..]`, `<..>`, `(..)`) may
    precede every group."""

    name: str
    """Without backslash and without star."""
    groups_before: int = 0
    r"""Mandatory groups before the keys: the volume in `\volcite{2}{key}`."""
    repeats: bool = False
    r"""Whether it takes any number of key groups, as `\cites{a}{b}` does."""

    @property
    def signature(self) -> str:
        """The command's form in settings and other files: "figcite" or "figcite#2"."""
        return f"{self.name}#{self.groups_before + 1}" if self.groups_before else self.name


def parse_signature(text: str) -> CiteCommand:
    """Parse "mycite" or "figcite#2" (keys in the second group)."""
    name, _, place = text.strip().lstrip("\\").partition("#")
    before = int(place) - 1 if place.isdecimal() and 0 < int(place) <= 9 else 0
    return CiteCommand(name, before)


_PLAIN = """
cite Cite citep citet citealp citealt citeauthor citeyear citeyearpar citefullauthor citenum
Citep Citet Citealp Citealt Citeauthor Citefullauthor citetalias citepalias defcitealias shortcites

parencite Parencite footcite footcitetext textcite Textcite smartcite Smartcite supercite autocite
Autocite citetitle citedate citeurl fullcite footfullcite notecite Notecite pnotecite Pnotecite
fnotecite citename citelist citefield entrycite parentcite nptextcite posscite Posscite
footfullciteieee

fullcite shortcite citeA citeNP fullciteA fullciteNP shortciteA shortciteNP citeauthorNP
shortciteauthor fullciteauthor citeyearNP citemeta fullcitemeta maskcite maskciteA maskciteNP
maskciteauthor maskcitep maskcitet

onlinecite rcite Rcite rcites citeN citeANP shortciteN shortciteANP shortcitename
citeasnoun possessivecite citeaffixed newcite yrcite citeposs footciteauthor
citealtp citeg Citeg citegen posscitet citepos

textcquote blockcquote

bibentry fullbibentry footfullbibentry nocite nociteA nocitemeta masknocite hypercite inlinecite
lcite mcite sidecite margincite sidefullcite marginfullcite sidetextcite sideparencite
"""
"""natbib; biblatex and its styles; apacite; REVTeX, harvard, chicago, ACL; csquotes; the rest."""

_LANGUAGE_FIRST = """
foreigntextcquote hyphentextcquote foreignblockcquote hyphenblockcquote hybridblockcquote
"""

_VOLUME_FIRST = """
volcite Volcite pvolcite Pvolcite fvolcite Fvolcite ftvolcite svolcite Svolcite tvolcite Tvolcite
avolcite Avolcite notevolcite Notevolcite pnotevolcite Pnotevolcite fnotevolcite
"""

_MULTI = """
cites Cites parencites Parencites footcites footcitetexts smartcites Smartcites textcites Textcites
supercites autocites Autocites fullcites footfullcites nptextcites citetitles citeauthors
"""

_MULTI_VOLUME = """
volcites Volcites pvolcites Pvolcites fvolcites Fvolcites ftvolcites svolcites Svolcites tvolcites
Tvolcites avolcites Avolcites
"""


def _build() -> dict[str, CiteCommand]:
    table: dict[str, CiteCommand] = {}
    kinds = (
        (_PLAIN, 0, False),
        (_LANGUAGE_FIRST, 1, False),
        (_VOLUME_FIRST, 1, False),
        (_MULTI, 0, True),
        (_MULTI_VOLUME, 1, True),
    )
    for names, before, repeats in kinds:
        for name in names.split():
            table[name] = CiteCommand(name, before, repeats)
    return table


CITE_COMMANDS = _build()

CITE_ENVIRONMENTS = {
    "displaycquote": CiteCommand("displaycquote"),
    "foreigndisplaycquote": CiteCommand("foreigndisplaycquote", 1),
    "hyphendisplaycquote": CiteCommand("hyphendisplaycquote", 1),
}
r"""csquotes environments, with keys after `\begin{...}`."""

_LOOKS_LIKE_CITE = re.compile(r"[Cc]ite[A-Za-z]*|[A-Za-z]+[Cc]ites?")
_NOT_CITE = words(
    """
    citestyle citetext citenamefont citeindex citeindextrue citeindexfalse citereset
    citetrackertrue citetrackerfalse citesetup citepunct citedash citeleft citeright citemid
    citeform citesort citerange citecolor citefont citeyearfont citeauthoryear citebrackets
    citesep citeadd citea citedelim citeauthorformat citefieldformat citeprepunct citebookmark
    AtEveryCite AtNextCite AtEachCite AtBeginCite pretocite posttocite precite postcite Recite
    recite excite Excite incite Incite solicite implicite explicite licite multicite newcites
    """
)

_MISSING = re.compile(
    r"(?:(?:todo|fixme|needs?|needed|missing|add|find|insert|fill|want|no)_?"
    r"(?:cite|cites|citation|citations|ref|refs|reference|references)"
    r"|(?:cite|citation|ref)_?(?:todo|fixme|needed|missing|me|here|this|tbd))",
    re.IGNORECASE,
)


def is_missing_cite(name: str) -> bool:
    r"""True for an author's note that a citation is missing: `\todocite{..}`, `\citationneeded`."""
    return _MISSING.fullmatch(name) is not None


def looks_like_cite(name: str) -> bool:
    r"""True for an unknown command with the name of a cite command. Authors define their own in
    style files that are not available: `\citeti`, `\figcite`."""
    return (
        _LOOKS_LIKE_CITE.fullmatch(name) is not None
        and name not in _NOT_CITE
        and "@" not in name
        and not is_missing_cite(name)
    )


def fallback_command(name: str) -> CiteCommand:
    """The likeliest shape of a command that only looks like a cite command."""
    return CiteCommand(name, 1 if "volcite" in name else 0, name.endswith("cites"))


VERBATIM_ENVIRONMENTS = words(
    """
    verbatim verbatim* Verbatim Verbatim* BVerbatim LVerbatim SaveVerbatim VerbatimOut
    verbatimtab verbatimwrite lstlisting minted comment filecontents filecontents* luacode
    luacode* pycode pyconsole sagesilent asy asydef tcblisting code spec haskell Highlighting
    excludecomment
    """
)

MATH_ENVIRONMENTS = frozenset(
    name + star
    for name in [
        "math",
        "displaymath",
        "equation",
        "align",
        "alignat",
        "flalign",
        "xalignat",
        "xxalignat",
        "gather",
        "multline",
        "eqnarray",
        "IEEEeqnarray",
        "dmath",
        "dgroup",
        "darray",
        "empheq",
        "numcases",
        "subnumcases",
    ]
    for star in ("", "*")
)

HEADINGS = {
    "part": 0,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
}

TITLES = words(
    """
    title icmltitle mlsystitle sysmltitle aistatstitle papertitle thesistitle settitle
    """
)
ABSTRACTS = words(
    """
    abstract Abstract onecolabstract abstracts
    """
)

INCLUDES = {
    "input": 1,
    "include": 1,
    "subfile": 1,
    "subfileinclude": 1,
    "InputIfFileExists": 1,
    "import": 2,
    "subimport": 2,
    "inputfrom": 2,
    "includefrom": 2,
    "subinputfrom": 2,
    "subincludefrom": 2,
}
"""Commands that read another file, with the number of groups in its name."""

PACKAGES = ("usepackage", "RequirePackage", "documentclass", "LoadClass")

BIBLIOGRAPHIES = words(
    """
    bibliography nobibliography addbibresource addglobalbib addsectionbib putbib
    """
)
NOT_BIBLIOGRAPHIES = words(
    """
    bibliographystyle bibliographyunit bibliographysetup bibliographytypesize
    bibliographyitemlabel bibliographyname bibliographyheading bibliographyentry
    bibliographyfont
    """
)

DEFINITIONS = words(
    """
    newcommand renewcommand providecommand DeclareRobustCommand NewDocumentCommand
    RenewDocumentCommand ProvideDocumentCommand DeclareDocumentCommand
    NewExpandableDocumentCommand newrobustcmd renewrobustcmd providerobustcmd
    DeclareCiteCommand DeclareMultiCiteCommand newcites newenvironment renewenvironment def
    edef gdef xdef let
    """
)

TODO_COMMANDS = words(
    """
    todo TODO Todo todoi todoinline fixme FIXME Fixme fxnote fxwarning fxerror fxfatal note
    Note NOTE
    """
)

RAW_ARGUMENTS = words(
    """
    url nolinkurl href path lstinputlisting inputminted hyperlink
    """
)
"""Commands with a verbatim first group: a percent sign in it starts no comment."""


# Parsing of the arguments of LaTeX commands in text that may end anywhere.
#
# Every parser returns None instead of raising, and looks only a limited distance ahead, so that a
# scan is linear for any input.

_GAP = re.compile(r"(?:[ \t]|%[^\n]*\n[ \t]*)*(?:\r?\n[ \t]*)?(?:%[^\n]*\n[ \t]*)*")
_BRACES = re.compile(r"\\.|[{}]|(?<!\\)%[^\n]*|\n[ \t]*\r?\n", re.DOTALL)
_BRACKETS = re.compile(r"\\.|[{}\[\]]|%[^\n]*|\n[ \t]*\r?\n", re.DOTALL)
_RAW = re.compile(r"\{[^{}\n]{0,2000}(?:\{[^{}\n]{0,500}\}[^{}\n]{0,2000}){0,8}\}")

MAX_OPTION = 2_000
MAX_GROUP = 20_000


def skip_gap(text: str, position: int) -> int:
    """The offset after spaces, comments and at most one line end; never past a blank line."""
    match = _GAP.match(text, position, position + 1_000)
    return match.end() if match else position


class ArgumentReader:
    """Parses groups and options of one text, with a budget for unclosed ones."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Failed searches may overlap; therefore their sum is bounded, not each one.
        self._budget = 4 * len(text) + 20_000

    def group(self, position: int, limit: int = MAX_GROUP, *, blank: bool = True) -> int | None:
        """The offset after the `}` that closes the `{` at `position`, or None. With `blank` false,
        a blank line ends the search, for a command with no blank line in its argument."""
        if self._budget <= 0:
            limit = min(limit, 100)
        depth = 0
        stop = min(len(self.text), position + limit)
        for match in _BRACES.finditer(self.text, position, stop):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth <= 0:
                    return match.end()
            elif token[0] == "\n" and not blank:
                stop = match.start()
                break
        self._budget -= stop - position
        return None

    def option(self, position: int) -> int | None:
        """The offset after the `]` that closes the `[` at `position`, or None."""
        limit = MAX_OPTION if self._budget > 0 else 100
        depth = 0
        stop = min(len(self.text), position + limit)
        for match in _BRACKETS.finditer(self.text, position + 1, stop):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth < 0:
                    break
            elif token == "]" and depth == 0:
                return match.end()
            elif token[0] == "\n":
                break
        self._budget -= stop - position
        return None

    def raw_group(self, position: int) -> int | None:
        r"""The offset after a group in which `%` and `\` have no meaning, as in `\url{..}`."""
        match = _RAW.match(self.text, position)
        return match.end() if match else None

    def optional(self, position: int) -> int:
        """The offset after the star and all options at `position`."""
        if self.text.startswith("*", position):
            position += 1
        while True:
            start = skip_gap(self.text, position)
            end = self.option(start) if self.text.startswith("[", start) else None
            if end is None:
                return position
            position = end

    def argument(self, position: int, limit: int = MAX_GROUP) -> tuple[int, int, int] | None:
        """Start and end of the contents of the next group and the offset after it, or None."""
        start = skip_gap(self.text, position)
        if not self.text.startswith("{", start):
            return None
        end = self.group(start, limit)
        return None if end is None else (start + 1, end - 1, end)


# Sorted ranges and fast look-ups in them.


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The ranges sorted, overlapping ones merged. Ranges that only touch stay apart."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            if span.end > merged[-1].end:
                merged[-1] = Span(merged[-1].start, span.end)
        elif span.end > span.start:
            merged.append(span)
    return merged


class SpanIndex:
    """Finds the range that covers an offset among sorted, non-overlapping ones."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._starts = [span.start for span in spans]

    def find(self, offset: int) -> Span | None:
        """The range with start <= offset < end, if there is one."""
        place = bisect_right(self._starts, offset) - 1
        if place >= 0 and offset < self._spans[place].end:
            return self._spans[place]
        return None

    def covers(self, offset: int) -> bool:
        return self.find(offset) is not None

    def between(self, start: int, end: int) -> Sequence[Span]:
        """The ranges that begin in [start, end), and the one around `start`."""
        low = max(0, bisect_right(self._starts, start) - 1)
        high = bisect_right(self._starts, end - 1) if end > start else low
        if low < len(self._spans) and self._spans[low].end <= start:
            low += 1
        return self._spans[low:high]


# Regions of a LaTeX source that are ignored: code, false conditions, mathematics.
#
# An opener counts only if it is closed: an unfinished `$` or `\begin{align}` must not swallow the
# rest of a document that is being typed.

_SIMPLE_MATH = re.compile(
    r"\$(?:[^$\\{}%\n]|\\.|\n(?![ \t]*\r?\n)"
    r"|\{(?:[^$\\{}%\n]|\\.|\{(?:[^$\\{}%\n]|\\.){0,500}+\}){0,500}+\}){1,2000}+\$",
    re.DOTALL,
)
"""Nearly all inline mathematics: without blank lines and comments, with balanced braces."""
_MATH_INSIDE = re.compile(r"\\.|[{}$%]|\n[ \t]*\r?\n", re.DOTALL)
_CONDITION = re.compile(r"\\(if[A-Za-z@]*|fi|else)(?![A-Za-z@])")
_FI = re.compile(r"\\fi(?![A-Za-z@])")
_NOT_CONDITION = frozenset(("iff", "ifthenelse", "ifdefined@", "ifstrequal", "ifblank"))
_VERB = re.compile(r"\*?([^A-Za-z\s*])")
_MAX_MATH = 20_000


class Blanks:
    """Collects the ignored regions of one text. Every method takes the range of a command and
    returns the offset at which to continue."""

    def __init__(self, text: str, arguments: ArgumentReader) -> None:
        self.text = text
        self.arguments = arguments
        self.blanked: list[Span] = []
        self.math: list[Span] = []
        self._math_until = 0
        self._no_math_before = 0
        self._next_end: dict[str, int] = {}
        self._no_nested_conditions = False
        self._no_fi = False

    def add(self, start: int, end: int) -> int:
        """Blank a range and return its end."""
        self.blanked.append(Span(start, end))
        return end

    def verbatim(self, name: str, start: int, after: int) -> int:
        stop = self._find_end(name, after)
        stop = len(self.text) if stop < 0 else stop + len(name) + 6
        return self.add(start, stop)

    def _find_end(self, name: str, position: int) -> int:
        r"""Start of the next `\end{name}`, or -1; cached."""
        found = self._next_end.get(name, 0)
        if 0 <= found < position:
            found = self.text.find(f"\\end{{{name}}}", position)
            self._next_end[name] = found
        return found

    def environment_end(self, name: str, after: int) -> int | None:
        r"""The offset after `\end{name}`; None if the environment is open or another begins."""
        stop = self._find_end(name, after)
        if stop < 0 or self.text.find(f"\\begin{{{name}}}", after, min(stop, after + 50_000)) >= 0:
            return None
        return stop + len(name) + 6

    def verb(self, name: str, start: int, end: int) -> int:
        if name == "mintinline":
            language = self.arguments.argument(self.arguments.optional(end), 100)
            end = language[2] if language else end
        elif name == "lstinline":
            end = self.arguments.optional(end)
        match = _VERB.match(self.text, end)
        if match is None:
            return end
        if match[1] == "{":
            stop = self.arguments.group(match.end() - 1, 1_000, blank=False)
        else:
            line_end = self.text.find("\n", end, end + 2_000)
            stop = self.text.find(match[1], match.end(), line_end if line_end >= 0 else end + 2_000)
            stop = stop + 1 if stop >= 0 else None
        if stop is None:
            return end
        return self.add(start, stop)

    def if_false(self, name: str, start: int, end: int) -> int:
        r"""Blank `\iffalse` or `\if0` up to its `\else` or `\fi`; nested conditions are counted."""
        if name == "if":
            if not self.text.startswith("0", end):
                return end
            end += 1
        stop = None if self._no_nested_conditions else self._matching_fi(end)
        if stop is None:
            # Unbalanced, perhaps because of user-defined conditions: the next `\fi` is the best
            # guess, and without one nothing is left out.
            self._no_nested_conditions = True
            following = None if self._no_fi else _FI.search(self.text, end)
            if following is None:
                self._no_fi = True
                return end
            stop = following.start()
        return self.add(start, stop)

    def _matching_fi(self, position: int) -> int | None:
        depth = 0
        for match in _CONDITION.finditer(self.text, position):
            word = match[1]
            if word in ("fi", "else"):
                if depth == 0:
                    return match.start()
                depth -= word == "fi"
            elif word not in _NOT_CONDITION and not self._declares(match.start()):
                depth += 1
        return None

    def _declares(self, start: int) -> bool:
        r"""True for the name in `\newif\ifdraft`, which opens no condition."""
        return self.text[max(0, start - 8) : start].rstrip(" {").endswith(("\\newif", "\\let"))

    def dollar(self, start: int) -> int:
        if start < self._math_until:
            return start + 1
        if self.text.startswith("$$", start):
            return self.math_until_closed(start, start + 2, "$$")
        if start >= self._no_math_before and (match := _SIMPLE_MATH.match(self.text, start)):
            return self.note_math(start, start + 1, match.end())
        return self.math_until_closed(start, start + 1, "$")

    def note_math(self, start: int, inside: int, end: int) -> int:
        """Scan the inside of mathematics only if it may contain a citation."""
        self.math.append(Span(start, end))
        self._math_until = max(self._math_until, end)
        return inside if self.text.find("cit", inside, end) >= 0 else end

    def math_until_closed(self, start: int, inside: int, closer: str) -> int:
        """Blank the math that opens at `start`, if it closes within the paragraph, and scan its
        inside: a citation in it still counts."""
        if start < self._math_until or start < self._no_math_before:
            return inside
        depth = 0
        stop = min(len(self.text), inside + _MAX_MATH)
        position = inside
        while match := _MATH_INSIDE.search(self.text, position, stop):
            token = match[0]
            position = match.end()
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
            elif token == "%":
                line_end = self.text.find("\n", position, stop)
                position = line_end if line_end >= 0 else stop
            elif token[0] == "\n":
                stop = match.start()
                break
            elif depth <= 0 and self.text.startswith(closer, match.start()):
                end = match.start() + len(closer)
                return self.note_math(start, inside, end)
        self._no_math_before = stop
        return inside
