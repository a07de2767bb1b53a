"""The LaTeX commands and environments that the scanner knows, by the package that defines them."""

from __future__ import annotations

import re

import msgspec


def words(text: str) -> frozenset[str]:
    """The words of a string: the shortest way to write a long set of names."""
    return frozenset(text.split())


class CiteCommand(msgspec.Struct, frozen=True):
    """How a cite command takes its arguments.

    Optional arguments (`[..]`, `<..>`, `(..)`) may precede every group.
    """

    name: str
    """Without backslash and without star."""
    groups_before: int = 0
    """Mandatory groups before that of the keys: the volume in `\\volcite{2}{key}`."""
    repeats: bool = False
    """True for `\\cites{a}{b}`, which takes any number of key groups."""

    @property
    def signature(self) -> str:
        """The form in which settings and other files name the command: "figcite" or "figcite#2"."""
        return f"{self.name}#{self.groups_before + 1}" if self.groups_before else self.name


def parse_signature(text: str) -> CiteCommand:
    """The command that "mycite" or "figcite#2" (keys in the second group) stands for."""
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
"""csquotes environments, whose keys follow `\\begin{...}`."""

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
    """True for an author's own note to cite something: `\\todocite{..}`, `\\citationneeded`."""
    return _MISSING.fullmatch(name) is not None


def looks_like_cite(name: str) -> bool:
    """True for a command that no table knows but whose name says that it cites.

    Authors define their own in style files that are not at hand: `\\citeti`, `\\figcite`.
    """
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
"""Commands that read another file, with the number of groups that make up its name."""

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
"""Commands whose first group is read as it stands: a percent sign in it starts no comment."""
