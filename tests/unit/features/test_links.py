from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.lsp.requests.outline import bib_links


def links(field: str) -> list[tuple[str, str, tuple[str, ...]]]:
    bib = parse_bib("@misc{k,\n  " + field + ",\n}\n", "/paper/refs.bib")
    return [(bib.text[s.start : s.end], url, files) for s, url, files in
            ((link.span, link.url, link.files) for link in bib_links(bib))]  # fmt: skip


@pytest.mark.parametrize(
    "field, shown, url",
    [
        ("doi = {10.1000/ABC_1}", "10.1000/ABC_1", "https://doi.org/10.1000/abc_1"),
        ('doi = "https://doi.org/10.1000/x"', "https://doi.org/10.1000/x", "https://doi.org/10.1000/x"),
        (r"url = {https://a.example/b\_c}", r"https://a.example/b\_c", "https://a.example/b_c"),
        (r"howpublished = {\url{http://a.example/b}}", "http://a.example/b", "http://a.example/b"),
        ("note = {See https://a.example/b.}", "https://a.example/b", "https://a.example/b"),
        ("eprint = {arXiv:1706.03762v5}", "arXiv:1706.03762v5", "https://arxiv.org/abs/1706.03762"),
        ("pmid = 26540673", "26540673", "https://pubmed.ncbi.nlm.nih.gov/26540673"),
        ("pmcid = {PMC123}", "PMC123", "https://pmc.ncbi.nlm.nih.gov/articles/PMC123"),
    ],
)  # fmt: skip
def test_an_identifier_leads_to_its_page(field, shown, url):
    assert links(field) == [(shown, url, ())]


@pytest.mark.parametrize(
    "field",
    ["title = {https://a.example}", "doi = {none}", "url = {javascript:alert(1)}", "url = {}",
     "eprint = {2020/123}, archiveprefix = {iacr}", "pmid = {see note}", "file = {}"],
)  # fmt: skip
def test_what_is_no_identifier_leads_nowhere(field):
    assert links(field) == []


@pytest.mark.parametrize(
    "value, first",
    [
        ("papers/a b.pdf", "/paper/papers/a b.pdf"),
        ("Full Text PDF:/z/storage/A/x.pdf:application/pdf", "/z/storage/A/x.pdf"),
        (":/home/me/x.pdf:pdf", "/home/me/x.pdf"),
        ("paper:./x.pdf:PDF", "/paper/x.pdf"),
        (r"d:C\:\\Users\\me\\x.pdf:PDF", "C:\\Users\\me\\x.pdf"),
        (r"d:C:\\Users\\me\\x.pdf:PDF", "C:\\Users\\me\\x.pdf"),
        (r"a\;b.pdf", "/paper/a;b.pdf"),
    ],
)
def test_a_file_is_found_as_reference_managers_write_it(value, first):
    ((shown, url, files),) = links("file = {" + value + "}")
    assert (shown, url) == (value, "")
    assert files[0].replace("/./", "/") == str(Path(first)) or files[0] == first
