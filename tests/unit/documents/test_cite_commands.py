r"""Every cite command of the packages that authors use: keys, completion and hover know it.

The names are those of the packages' manuals: natbib 8.31, biblatex 3.20, apacite 6.03, csquotes
5.2, REVTeX 4.2, jurabib, multibib, chapterbib and the classes built on them.
"""

import re

import pytest

from citewell.documents.latex.scanner import scan_latex
from citewell.features.citing.citation import key_at
from citewell.features.citing.complete import wanted

ONE_GROUP = r"""
\cite{KEYS} \cite[see][p.~5]{KEYS} \cite*{KEYS} \Cite{KEYS} \cite<see>[p.~5]{KEYS} \cite{KEYS}[after]
\citet{KEYS} \citet*{KEYS} \Citet{KEYS} \Citet*{KEYS} \citep{KEYS} \citep[e.g.][]{KEYS} \citep*{KEYS}
\Citep{KEYS} \citealt{KEYS} \citealt*{KEYS} \Citealt{KEYS} \citealp{KEYS} \citealp*{KEYS}
\Citealp{KEYS} \citenum{KEYS} \citeauthor{KEYS} \citeauthor*{KEYS} \Citeauthor{KEYS} \citeyear{KEYS}
\citeyearpar{KEYS} \citefullauthor{KEYS} \citetalias{KEYS} \citepalias{KEYS}
\parencite{KEYS} \parencite*{KEYS} \Parencite{KEYS} \footcite{KEYS} \footcitetext{KEYS}
\textcite{KEYS} \Textcite{KEYS} \smartcite{KEYS} \Smartcite{KEYS} \supercite{KEYS} \autocite{KEYS}
\autocite*{KEYS} \Autocite{KEYS} \citetitle{KEYS} \citetitle*{KEYS} \citedate{KEYS} \citedate*{KEYS}
\citeurl{KEYS} \fullcite{KEYS} \footfullcite{KEYS} \notecite{KEYS} \Notecite{KEYS} \pnotecite{KEYS}
\Pnotecite{KEYS} \fnotecite{KEYS} \citename{KEYS}{author} \citelist{KEYS}{publisher}
\citefield{KEYS}{title} \autocite[see][5]{KEYS} \parencite[][]{KEYS}
\citeA{KEYS} \citeNP{KEYS} \fullciteA{KEYS} \fullciteNP{KEYS} \shortcite{KEYS} \shortciteA{KEYS}
\shortciteNP{KEYS} \citeauthorNP{KEYS} \shortciteauthor{KEYS} \fullciteauthor{KEYS}
\citeyearNP{KEYS} \nocitemeta{KEYS} \citemeta{KEYS} \maskcite{KEYS} \maskciteA{KEYS}
\onlinecite{KEYS} \rcite{KEYS} \citeasnoun{KEYS} \possessivecite{KEYS} \citeaffixed{KEYS}{e.g.}
\citeyearpar[p.~3]{KEYS} \textcquote{KEYS}{words} \textcquote[12]{KEYS}{words}
\textcquote[see][12]{KEYS}[.]{words} \textcquote*{KEYS}{words} \blockcquote{KEYS}{words}
\bibentry{KEYS} \nocite{KEYS} \inlinecite{KEYS}
\citeN{KEYS} \citeANP{KEYS} \newcite{KEYS} \citeposs{KEYS} \mcite{KEYS} \sidecite{KEYS}
\citenumns{KEYS} \jurabibcite{KEYS} \posscite{KEYS} \Posscite{KEYS} \parentcite{KEYS}
\footnotecite{KEYS} \citeit{KEYS} \hypercite{KEYS} \entrycite{KEYS}
"""

SECOND_GROUP = r"""
\volcite{2}{KEYS} \volcite[see]{2}[5]{KEYS} \Volcite{2}{KEYS} \pvolcite{2}{KEYS} \Pvolcite{2}{KEYS}
\fvolcite{2}{KEYS} \ftvolcite{2}{KEYS} \svolcite{2}{KEYS} \Svolcite{2}{KEYS} \tvolcite{2}{KEYS}
\Tvolcite{2}{KEYS} \avolcite{2}{KEYS} \Avolcite{2}{KEYS} \notevolcite{2}{KEYS}
\foreigntextcquote{french}{KEYS}{mots} \foreigntextcquote{french}[12]{KEYS}{mots}
\hyphentextcquote{german}{KEYS}{Worte} \foreignblockcquote{french}{KEYS}{mots}
\hyphenblockcquote{german}{KEYS}{Worte} \hybridblockcquote{german}[5]{KEYS}{Worte}
"""

MANY_GROUPS = r"""
\cites{KEY}{KEY} \cites(see)(end)[a][b]{KEY}[c]{KEY} \Cites{KEY}{KEY} \parencites{KEY}{KEY}
\Parencites{KEY}{KEY} \footcites{KEY}{KEY} \footcitetexts{KEY}{KEY} \smartcites{KEY}{KEY}
\Smartcites{KEY}{KEY} \textcites{KEY}{KEY} \Textcites[see][5]{KEY}[6]{KEY} \supercites{KEY}{KEY}
\autocites{KEY}{KEY} \Autocites{KEY}{KEY} \fullcites{KEY}{KEY} \footfullcites{KEY}{KEY}
\volcites{1}{KEY}{2}{KEY} \pvolcites{1}[5]{KEY}{2}{KEY} \tvolcites{1}{KEY}{2}{KEY}
\avolcites{1}{KEY}{2}{KEY} \fvolcites{1}{KEY}{2}{KEY} \svolcites{1}{KEY}{2}{KEY}
"""


def commands(table):
    return re.findall(r"\\[^\\]+", table.replace("\n", " "))


def keys_of(text):
    document = scan_latex(text, "/p/main.tex")
    return [use.key for citation in document.citations for use in citation.keys]


@pytest.mark.parametrize("command", [c.strip() for c in commands(ONE_GROUP + SECOND_GROUP)])
def test_the_keys_of_a_cite_command_are_recognised_hovered_and_completed(command):
    text = "So " + command.replace("KEYS", "kipf17, vas") + " says."
    assert keys_of(text) == ["kipf17", "vas"]
    document = scan_latex(text, "/p/main.tex")
    inside = text.index("kipf17") + 2
    _, use = key_at(document, inside)
    assert use.key == "kipf17"
    if not command.startswith(r"\nocite"):
        at = wanted(document, text.index("vas") + 3)
        assert at is not None
        assert at.place.typed == "vas"


@pytest.mark.parametrize("command", [c.strip() for c in commands(MANY_GROUPS)])
def test_every_group_of_a_multicite_command_is_read(command):
    text = "So " + command.replace("KEY", "one", 1).replace("KEY", "two", 1) + " says."
    assert keys_of(text) == ["one", "two"]
    document = scan_latex(text, "/p/main.tex")
    at = wanted(document, text.index("two") + 2)
    assert at is not None
    assert at.place.typed == "tw"


@pytest.mark.parametrize(
    "environment",
    [
        r"\begin{displaycquote}[5]{one}words\end{displaycquote}",
        r"\begin{foreigndisplaycquote}{french}{one}mots\end{foreigndisplaycquote}",
    ],
)
def test_the_quoting_environments_are_read(environment):
    assert keys_of(environment) == ["one"]


@pytest.mark.parametrize(
    ("definition", "use", "keys"),
    [
        (r"\newcommand{\citex}[1]{\cite{#1}}", r"\citex{a,b}", ["a", "b"]),
        (r"\newcommand{\mine}[1]{(\citealp{#1})}", r"\mine{a}", ["a"]),
        (r"\newcommand{\pp}[2][]{\citep[#1]{#2}}", r"\pp[5]{a}", ["a"]),
        (r"\newcommand{\at}[2]{\cite[#1]{#2}}", r"\at{p. 5}{a}", ["a"]),
        (r"\def\ct#1{\citet{#1}}", r"\ct{a}", ["a"]),
        (r"\let\ct\citet", r"\ct[see]{a}", ["a"]),
        (r"\NewDocumentCommand{\nc}{o m}{\citep[#1]{#2}}", r"\nc[5]{a}", ["a"]),
        (r"\DeclareCiteCommand{\shortly}{}{}{}{}", r"\shortly{a}", ["a"]),
        (r"\DeclareMultiCiteCommand{\shortlies}{\shortly}{}", r"\shortlies{a}{b}", ["a", "b"]),
        (r"\newcites{sec}{Secondary}", r"\citepsec{a}", ["a"]),
        (r"\newrobustcmd*{\quoted}[1]{\footcite{#1}}", r"\quoted{a}", ["a"]),
    ],
)
def test_the_authors_own_cite_commands_are_found_by_their_definition(definition, use, keys):
    assert keys_of(definition + "\nAs " + use + " says.")[-len(keys) :] == keys
