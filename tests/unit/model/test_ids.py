"""Identifiers come out in one form, whatever a record wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.model.identifiers import acl_id, arxiv_id, normalise_doi


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("10.18653/v1/N19-1423", "10.18653/v1/n19-1423"),
        ("https://doi.org/10.18653/V1/N19-1423.", "10.18653/v1/n19-1423"),
        ("doi: 10.1145/12.3,", "10.1145/12.3"),
        ("DOI:10.1145/12.3", "10.1145/12.3"),
        ("http://dx.doi.org/10.1145%2F12.3", "10.1145/12.3"),
        ("(10.1016/0004-3702(89)90049-0)", "10.1016/0004-3702(89)90049-0"),
        (
            "10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
            "10.1002/(sici)1097-4571(199806)49:8<693::aid-asi4>3.0.co;2-o",
        ),
        ("10.1162/tacl\\_a\\_00051", "10.1162/tacl_a_00051"),
        ("10.1007/978-3-319-24574-4{\\_}28", "10.1007/978-3-319-24574-4_28"),
        ("\\url{https://doi.org/10.1145/12.3}", "10.1145/12.3"),
        ("https://dl.acm.org/doi/abs/10.1145/3292500.3330701?x=1", "10.1145/3292500.3330701"),
        (
            "https://www.frontiersin.org/articles/10.3389/fnins.2019.00001/full",
            "10.3389/fnins.2019.00001",
        ),
        ("10.48550/arXiv.1706.03762", "10.48550/arxiv.1706.03762"),
        ("", ""),
        ("section 10.2 of the book", ""),
        ("10.1145/", ""),
    ],
)
def test_a_doi_is_bare_and_lower_case(text: str, doi: str) -> None:
    assert normalise_doi(text) == doi


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("1706.03762", "1706.03762"),
        ("arXiv:1706.03762v5", "1706.03762"),
        ("arXiv preprint arXiv:1706.03762", "1706.03762"),
        ("http://arxiv.org/pdf/1706.03762v2.pdf", "1706.03762"),
        ("https://arxiv.org/abs/1706.03762", "1706.03762"),
        ("CoRR, abs/1409.0473", "1409.0473"),
        ("10.48550/arXiv.1706.03762", "1706.03762"),
        ("1706.03762 [cs.CL]", "1706.03762"),
        ("cs/0102012", "cs/0102012"),
        ("math.GT/0309136", "math/0309136"),
        ("arXiv:cs.CL/0102012v1", "cs/0102012"),
        ("hep-th/9901001", "hep-th/9901001"),
        ("1713.03762", ""),
        ("on pages 1706.03762 and on", ""),
        ("https://doi.org/10.1109/1234.56789", ""),
        ("", ""),
        ("arXiv:1011.1669v3", ""),  # what Mendeley writes where it knows none
        ("arXiv:1011.1669", "1011.1669"),
    ],
)
def test_an_arxiv_identifier_has_no_version(text: str, identifier: str) -> None:
    assert arxiv_id(text) == identifier


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("P19-1001", "P19-1001"),
        ("acl:2020.acl-main.1", "2020.acl-main.1"),
        ("https://www.aclweb.org/anthology/P/P19/P19-1001.pdf", "P19-1001"),
        ("http://aclweb.org/anthology/W04-1013", "W04-1013"),
        ("https://aclanthology.org/2020.findings-emnlp.12/", "2020.findings-emnlp.12"),
        ("10.18653/v1/n19-1423", "N19-1423"),
        ("x-ray", ""),
        ("A12-34", ""),
    ],
)
def test_an_anthology_identifier_is_found(text: str, identifier: str) -> None:
    assert acl_id(text) == identifier


@given(st.text(alphabet="0123456789./()abcXYZ-_:{}\\%<> arxivdoi", max_size=60))
def test_normalising_an_identifier_again_changes_nothing(text: str) -> None:
    doi = normalise_doi(text)
    assert normalise_doi(doi) == doi
    arxiv = arxiv_id(text)
    assert arxiv_id(arxiv) == arxiv


@pytest.mark.parametrize(
    "written",
    [
        r"10.1002/(SICI)1097\ensuremath{<}1::AID-X\ensuremath{>}3.0",
        r"10.1002/(SICI)1097{\textless}1::AID-X{\textgreater}3.0",
        r"10.1002/(SICI)1097\textless{}1::AID-X\textgreater{}3.0",
        "10.1002/(SICI)1097$<$1::AID-X$>$3.0",
        "10.1002/(SICI)1097&lt;1::AID-X&gt;3.0",
        r"10.1002/(SICI)1097\&lt;1::AID-X\&gt;3.0",
    ],
)
def test_angles_of_a_doi_are_read_however_they_are_escaped(written: str) -> None:
    assert normalise_doi(written) == "10.1002/(sici)1097<1::aid-x>3.0"
