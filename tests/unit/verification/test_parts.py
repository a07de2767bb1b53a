"""Names, venues, identifiers and written references, each by itself."""

import pytest

from citewell.model.names import split_authors
from citewell.model.venues import venue_ids
from citewell.verification.claims import claims_of_text, claims_of_thebibliography
from citewell.verification.free_text import parse_reference
from citewell.verification.id_check import doi_says, impossible_arxiv, impossible_doi
from citewell.verification.likeness import TitleLike, names_preprint, same_words, title_likeness
from citewell.verification.people import Difference, compare_people


@pytest.mark.parametrize(
    ("given", "known", "difference"),
    [
        ("D&apos;Amore, Marco", "Marco D'Amore", Difference.SAME),
        ("van den Oord, Aaron", 'A{\\"a}ron van den Oord', Difference.SAME),
        ("Daum{\\'e} III, Hal", "Hal Daume III", Difference.SAME),
        ("Poggio, T.", "Tomaso A. Poggio", Difference.SAME),
        ("Poggio T.", "Tomaso A. Poggio", Difference.SAME),
        ("Xavier Boix", "Xavier Boix Bosch", Difference.SAME),
        ("Zhuanyi Huang", "Zhuanyi Shaw", Difference.SAME),
        ("Naoki Abe Hiroshi Mamitsuka", "Naoki Abe and Hiroshi Mamitsuka", Difference.SAME),
        (
            "Stephen A Della Pietra and Vincent J Della Pietra",
            "Stephen A. Della Pietra and Vincent J. Della Pietra",
            Difference.SAME,
        ),
        ("Yang Song and Jiaming Song", "Jiaming Song and Yang Song", Difference.ORDER),
        ("A. Gupta and M. Brown", "Zekun Wang and Furu Wei", Difference.UNRELATED),
        ("Ann Ash and Ben Beech", "Ann Ash and Ben Beech and Carl Cedar", Difference.MISSING),
        ("Ann Ash and others", "Ann Ash and Ben Beech", Difference.SAME),
        ("", "Ann Ash", Difference.UNKNOWN),
    ],
)
def test_author_lists_are_compared_as_a_reader_would(given, known, difference):
    others = given.endswith("others")
    result = compare_people(split_authors(given), split_authors(known), others=others)
    assert result.difference is difference


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Advances in Neural Information Processing Systems 30", "neurips"),
        ("NIPS'17", "neurips"),
        (
            "Proc. of the 57th Annual Meeting of the Association for Computational Linguistics",
            "acl",
        ),
        ("J. Mach. Learn. Res.", "jmlr"),
        ("Mach. Learn.", "mlj"),
        ("CVPR2019", "cvpr"),
        ("Proceedings of EMNLP-IJCNLP", "emnlp"),
        ("Transactions of the Association for Computational Linguistics", "tacl"),
    ],
)
def test_a_venue_is_known_by_all_its_names(text, name):
    assert name in venue_ids(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The 22nd International Conference on Artificial Intelligence and Statistics", "aistats"),
        ("Proceedings of the 2018 SIAM International Conference on Data Mining", "sdm"),
        ("Pacific-Asia Conference on Knowledge Discovery and Data Mining", "pakdd"),
        ("Advances in Knowledge Discovery and Data Mining", "pakdd"),
        ("Fifteenth National Conference on Artificial Intelligence", "aaai"),
        ("IEEE International Conference on Data Mining", "icdm"),
        ("International Conference on Knowledge Discovery and Data Mining", "kdd"),
        ("International Conference on Machine Learning", "icml"),
    ],
)
def test_a_venue_whose_name_contains_that_of_another_is_itself_alone(text, name):
    assert venue_ids(text) == {name}


def test_unknown_venues_are_compared_by_words():
    assert same_words("Ann. Mount. Geogr.", "Annals of Mountain Geography")
    assert same_words("Proceedings of Advance in Neutral Information Processing",
                      "Advances in Neural Information Processing Systems")  # fmt: skip
    assert not same_words("Symposium on Neural Scaling Laws", "Learning Representations")
    assert names_preprint("CoRR, abs/1706.03762")


@pytest.mark.parametrize(
    ("doi", "venue", "year"),
    [
        ("10.1609/aaai.v36i9.21266", "aaai", 2022),
        ("10.18653/v1/2023.acl-long.12", "acl", 2023),
        ("10.18653/v1/p19-1001", "acl", 2019),
        ("10.1109/cvpr52729.2023.00373", "cvpr", 2023),
        ("10.24963/ijcai.2021/12", "ijcai", 2021),
        ("10.1007/s10994-022-06288-4", "mlj", 2022),
    ],
)
def test_the_form_of_a_doi_tells_venue_and_year(doi, venue, year):
    record = doi_says(doi)
    assert venue in record.venues
    assert record.year == year or (venue == "cvpr" and record.year is None)


def test_identifiers_that_cannot_exist_are_told_from_rare_ones():
    assert impossible_doi("10.99999/abc")
    assert impossible_doi("10.48550/arxiv.2310.xxxx")
    assert not impossible_doi("10.48550/arxiv.2310.12345")
    assert impossible_arxiv("2305.XXXX", 2026)
    assert impossible_arxiv("2313.01234", 2026)
    assert not impossible_arxiv("2305.01234", 2026)


@pytest.mark.parametrize(
    ("given", "known", "likeness"),
    [
        ("Pre-Training of Things", "Pretraining of things", TitleLike.SAME),
        ("Learning to Rank Papers", "Learning to Rank Papers: A Survey of Methods",
         TitleLike.SUBTITLE),
        ("Detecting Pedestrains Using Patterns", "Detecting Pedestrians Using Patterns",
         TitleLike.SPELLING),
        ("Bias Augmentation towards Model Debiasing", "Bias Augmentation for Model Debiasing",
         TitleLike.WORDS),
        ("Mining of Data, 3rd edition", "Mining of Data", TitleLike.SUBTITLE),
        ("Mining of Data", "Mining of Data (Second ed.)", TitleLike.SUBTITLE),
        ("Findings of the Shared Task 2018", "Findings of the Shared Task 2019", TitleLike.OTHER),
        ("Graph Attention Networks", "Convolutional Sequence Models", TitleLike.OTHER),
    ],
)  # fmt: skip
def test_titles_are_alike_in_degrees(given, known, likeness):
    assert title_likeness(given, known) is likeness


@pytest.mark.parametrize(
    ("text", "first", "count", "title", "year"),
    [
        ("Ashish Vaswani, Noam Shazeer, and Niki Parmar. Attention is all you need. In NeurIPS, "
         "2017.", "Vaswani", 3, "Attention is all you need", 2017),
        ("Devlin, J., Chang, M.-W., & Lee, K. (2019). BERT: Pre-training of transformers. NAACL, "
         "4171-4186.", "Devlin", 3, "BERT: Pre-training of transformers", 2019),
        ("P. Velickovic, G. Cucurull, and A. Casanova, “Graph attention networks,” in Proc. ICLR, "
         "2018.", "Velickovic", 3, "Graph attention networks", 2018),
        ("Matthew Peters and Mark Neumann. 2018. Deep contextualized word representations. In "
         "NAACL.", "Peters", 2, "Deep contextualized word representations", 2018),
    ],
)  # fmt: skip
def test_a_written_reference_is_taken_apart(text, first, count, title, year):
    claim = parse_reference(text)
    assert (claim.title, claim.year, len(claim.authors)) == (title, year, count)
    assert claim.authors[0].family == first
    assert claim.raw


def test_bibitems_are_read_with_key_and_line():
    text = (
        "\\begin{thebibliography}{9}\n% \\bibitem{gone} X\n"
        "\\bibitem[Ash(2001)]{ash} A.~Ash.\n\\newblock A title of a paper.\n"
        "\\newblock In \\emph{Proc. ICML}, 2001.\n\\end{thebibliography}\n"
    )
    (claim,) = claims_of_thebibliography(text, "p.tex")
    assert (claim.key, claim.line, claim.title) == ("ash", 3, "A title of a paper")
    assert claim.year == 2001


def test_empty_and_odd_texts_are_no_references():
    assert claims_of_text("") == []
    assert claims_of_text("\n\n \n") == []
    for text in ("(((", "10.", "et al.", "2020", "é" * 5000, "a. " * 2000):
        parse_reference(text)
