"""A text that is an identifier names one work; any other text is words."""

import pytest

from citewell.model import Work
from citewell.model.identifiers import address_key, dois_of, identifier_of

IDENTIFIERS = [
    ("10.18653/v1/N19-1423", "doi", "10.18653/v1/n19-1423"),
    ("doi:10.18653/v1/N19-1423", "doi", "10.18653/v1/n19-1423"),
    ("DOI: 10.18653/V1/n19-1423.", "doi", "10.18653/v1/n19-1423"),
    ("https://doi.org/10.18653/v1/N19-1423", "doi", "10.18653/v1/n19-1423"),
    ("dx.doi.org/10.1145/1143844.1143914", "doi", "10.1145/1143844.1143914"),
    (r"10.1007/978-3-319-24574-4\_28", "doi", "10.1007/978-3-319-24574-4_28"),
    ("https://dl.acm.org/doi/10.1145/1143844.1143914", "doi", "10.1145/1143844.1143914"),
    ("https://www.nature.com/articles/s41586-021-03819-2", "doi", "10.1038/s41586-021-03819-2"),
    ("1706.03762", "arxiv", "1706.03762"),
    ("1706.03762v5", "arxiv", "1706.03762"),
    ("arXiv:1706.03762v2 [cs.CL]", "arxiv", "1706.03762"),
    ("arxiv 1706.03762", "arxiv", "1706.03762"),
    ("arXiv:1713.00001", "arxiv", "1713.00001"),
    ("https://arxiv.org/pdf/1706.03762.pdf", "arxiv", "1706.03762"),
    ("<https://arxiv.org/abs/1706.03762v5>", "arxiv", "1706.03762"),
    ("10.48550/arXiv.1706.03762", "arxiv", "1706.03762"),
    ("https://doi.org/10.48550/arXiv.1706.03762", "arxiv", "1706.03762"),
    ("cs.CL/0102012v1", "arxiv", "cs/0102012"),
    ("arxiv.org/abs/hep-th/9901001", "arxiv", "hep-th/9901001"),
    ("N19-1423", "acl", "N19-1423"),
    ("acl:2020.acl-main.1", "acl", "2020.acl-main.1"),
    ("https://aclanthology.org/N19-1423/", "acl", "N19-1423"),
    ("https://www.aclweb.org/anthology/N19-1423.pdf", "acl", "N19-1423"),
    ("https://openreview.net/forum?noteId=1&id=Bkg6RiCqY7", "openreview", "Bkg6RiCqY7"),
    (r"\url{https://openreview.net/pdf?id=Bkg6RiCqY7}", "openreview", "Bkg6RiCqY7"),
    ("https://example.org/paper.html", "url", "https://example.org/paper.html"),
]


@pytest.mark.parametrize(("text", "kind", "value"), IDENTIFIERS)
def test_each_way_of_writing_an_identifier_is_read(text: str, kind: str, value: str) -> None:
    found = identifier_of(text)
    assert found is not None
    assert (found.kind, found.value) == (kind, value)


@pytest.mark.parametrize(
    "text",
    [
        "", "BERT", "GPT-2", "attention is all you need", "see arXiv:1706.03762 for it",
        "graph attention 2018", "10.5 million words", "vaswani2017attention", "TCP/IP", "and/or",
        "author:lecun", "arxiv papers", "W04-3247 shared task", "10.18653", "1998.0 words",
    ],
)  # fmt: skip
def test_words_are_no_identifier(text: str) -> None:
    assert identifier_of(text) is None


def test_the_page_and_the_file_of_a_paper_have_one_key() -> None:
    name = "3f67fd97162d20e6fe27748b5b372509"
    pairs = [
        (f"https://proceedings.neurips.cc/paper/2014/hash/{name}-Abstract.html",
         f"http://papers.nips.cc/paper/2014/file/{name}-Paper.pdf"),
        ("https://proceedings.mlr.press/v70/finn17a.html",
         "http://proceedings.mlr.press/v70/finn17a/finn17a.pdf"),
        ("https://openaccess.thecvf.com/content_cvpr_2018/html/Ha_One_CVPR_2018_paper.html",
         "http://openaccess.thecvf.com/content_cvpr_2018/papers/Ha_One_CVPR_2018_paper.pdf"),
        ("https://www.example.org/a/b.html#top", "http://example.org/a/b/"),
    ]  # fmt: skip
    for page, file in pairs:
        assert address_key(page) == address_key(file) != ""
    assert address_key("https://example.org/view?id=1") != address_key(
        "https://example.org/view?id=2"
    )


def test_a_record_is_named_by_what_any_of_its_fields_says() -> None:
    arxiv = identifier_of("1706.03762")
    assert arxiv is not None
    for fields in (
        {"arxiv": "1706.03762"},
        {"url": "https://arxiv.org/abs/1706.03762v5"},
        {"doi": "10.48550/arxiv.1706.03762"},
        {"journal": "CoRR abs/1706.03762"},
    ):
        assert arxiv.names(Work(id="x:1", title="A", **fields)), fields
    assert not arxiv.names(Work(id="x:1", title="A", arxiv="1706.03763"))


def test_the_dois_of_a_work_are_its_own_and_those_of_merged_records():
    work = Work(
        id="a", title="T", doi="https://doi.org/10.5555/ABC",
        same_as=("a", "doi:10.5555/abc", "doi:10.1234/other", "acl:1"),
    )  # fmt: skip
    assert dois_of(work) == ("10.5555/abc", "10.1234/other")
    assert dois_of(Work(id="a", title="T")) == ()
