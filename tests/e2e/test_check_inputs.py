"""What `citewell check` reads and writes beside .bib files: addresses, RIS, word processors' documents,
papers on arXiv."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import citewell_in

LUONG = r"""@inproceedings{luong,
  title     = {Effective Approaches to Attention-based Neural Machine Translation},
  author    = {Luong, Thang and Pham, Hieu and Manning, Christopher D.},
  booktitle = {EMNLP},
  year      = {2015},
  url       = {%s},
}
"""
KETTLES = """@misc{kettles,
  title = {The patience of kettles},
  author = {Example, Ada},
  year = 2019,
  howpublished = {A blog},
}
"""


class Proxy:
    """A proxy of the web on this machine, which answers for every host itself."""

    def __init__(self, status: dict[str, int]) -> None:
        self.requests: list[tuple[str, str]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                proxy.requests.append((self.command, self.path))
                self.send_response(status.get(self.path, 200))
                self.send_header("content-length", "0")
                self.end_headers()

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    found = Proxy({"http://papers.example.org/gone": 404, "http://papers.example.org/shy": 403})
    yield found
    found.close()


def codes(run: subprocess.CompletedProcess[str]) -> list[list[str]]:
    checks = json.loads(run.stdout)["checks"]
    return [[one["code"] for one in check.get("findings", [])] for check in checks]


def test_an_address_that_is_gone_is_a_note_and_only_public_hosts_are_asked(
    env: dict[str, str], tmp_path: Path, proxy: Proxy
) -> None:
    addresses = (
        "http://papers.example.org/gone", "http://papers.example.org/here",
        "http://papers.example.org/shy", "http://192.168.1.1/admin", "http://localhost:80/x",
        "http://169.254.169.254/latest/meta-data/", "http://printer.local/", "file:///etc/passwd",
        "http://user:word@papers.example.org/secret",
    )  # fmt: skip
    entries = [
        (LUONG % address).replace("{luong,", f"{{luong{number},")
        for number, address in enumerate(addresses)
    ]
    (tmp_path / "refs.bib").write_text("\n".join(entries), encoding="utf-8")
    environment = {"HTTP_PROXY": proxy.url, "http_proxy": proxy.url, "NO_PROXY": "", "no_proxy": ""}
    citewell = citewell_in(tmp_path, env | environment)
    run = citewell("check", "refs.bib", "--format", "json")
    assert codes(run) == [[]] * len(addresses) and not proxy.requests
    run = citewell("check", "refs.bib", "--format", "json", "--check-urls")
    assert run.returncode == 0, run.stderr
    assert codes(run) == [["url-gone"], *[[]] * (len(addresses) - 1)]
    assert {check["verdict"] for check in json.loads(run.stdout)["checks"]} == {"verified"}
    assert {path for _, path in proxy.requests} == set(addresses[:3])
    assert ("GET", addresses[0]) in proxy.requests, "a host may answer HEAD with 404"
    assert "answers 404" in citewell("check", "refs.bib", "--check-urls").stdout


def test_references_are_written_as_ris_with_their_records_and_verdicts(
    env: dict[str, str], tmp_path: Path
) -> None:
    invented = LUONG.replace("Luong, Thang and Pham, Hieu and Manning, Christopher D.", "Doe, John")
    (tmp_path / "refs.bib").write_text(
        LUONG % "" + KETTLES + invented.replace("{luong,", "{doe,") % "", encoding="utf-8"
    )
    citewell = citewell_in(tmp_path, env)
    run = citewell("check", "refs.bib", "--format", "ris", "--out", "refs.ris")
    assert run.returncode == 1
    text = (tmp_path / "refs.ris").read_bytes().decode("utf-8")
    assert text.count("TY  - ") == 2 and "Doe" not in text
    assert "ID  - luong\r\n" in text and "AU  - Luong, Thang\r\n" in text
    assert "N1  - luong: verified." in text and "N1  - kettles: not found." in text
    added = citewell("library", "add", "--name", "again", "refs.ris")
    assert added.returncode == 0 and "2" in added.stdout, added.stderr


LISTED = (
    "Thang Luong, Hieu Pham, and Christopher D. Manning. 2015. Effective Approaches to "
    "Attention-based Neural Machine Translation. In Proceedings of EMNLP.",
    "Ada Example. 2019. The patience of kettles. A blog.",
)


def verdicts(run: subprocess.CompletedProcess[str]) -> list[str]:
    return [check["verdict"] for check in json.loads(run.stdout)["checks"]]


def test_the_references_of_a_word_document_are_checked(env: dict[str, str], tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("On kettles", 0)
    document.add_paragraph("We follow Luong et al. (2015).")
    document.add_heading("References", 1)
    for reference in LISTED:
        document.add_paragraph(reference)
    document.add_heading("Appendix", 1)
    document.add_paragraph("Nothing. 2015.")
    document.save(str(tmp_path / "paper.docx"))
    run = citewell_in(tmp_path, env)("check", "paper.docx", "--format", "json")
    assert verdicts(run) == ["verified", "not-found"], run.stdout + run.stderr


def test_the_references_of_an_opendocument_text_are_checked(
    env: dict[str, str], tmp_path: Path
) -> None:
    odfdo = pytest.importorskip("odfdo")
    document = odfdo.Document("text")
    document.body.clear()
    document.body.append(odfdo.Header(1, "On kettles"))
    document.body.append(odfdo.Paragraph("We follow Luong et al. (2015)."))
    document.body.append(odfdo.Header(1, "Bibliography"))
    for reference in LISTED:
        document.body.append(odfdo.Paragraph(reference))
    document.save(tmp_path / "paper.odt")
    run = citewell_in(tmp_path, env)("check", "paper.odt", "--format", "json")
    assert verdicts(run) == ["verified", "not-found"], run.stdout + run.stderr


CSL = """references:
- id: late
  type: paper-conference
  title: "Semi-Supervised Classification with Graph Convolutional Networks"
  author:
  - {family: Kipf, given: Thomas N.}
  - {family: Welling, given: Max}
  container-title: ICLR
  issued: 2012
- id: invented
  type: paper-conference
  title: Neural Machine Translation by Jointly Learning to Align and Translate
  author:
  - {family: Miller, given: Zoe}
  - {family: Stone, given: Abel}
  container-title: ICLR
  issued: {date-parts: [[2015]]}
"""


def test_the_entries_of_csl_lists_are_checked_at_their_places(
    env: dict[str, str], tmp_path: Path
) -> None:
    import yaml

    cited = "As [@late] and [@invented] say.\n"
    (tmp_path / "refs.yaml").write_text(CSL)
    items = yaml.safe_load(CSL)["references"]
    (tmp_path / "refs.json").write_text(json.dumps(items, indent=1))
    (tmp_path / "a.md").write_text(f"---\nbibliography: refs.yaml\n---\n{cited}")
    (tmp_path / "b.qmd").write_text(f"---\nbibliography: refs.json\n---\n{cited}")
    (tmp_path / "c.Rmd").write_text(f"---\ntitle: X\n{CSL}---\n{cited}")
    run = citewell_in(tmp_path, env)
    lists = {"refs.yaml": "refs.yaml", "refs.json": "refs.json", "c.Rmd": "c.Rmd",
             "a.md": "refs.yaml", "b.qmd": "refs.json"}  # fmt: skip
    for listed, place in lists.items():
        found = run("check", listed, "--format", "json")
        assert found.returncode == 1, found.stderr
        late, invented = json.loads(found.stdout)["checks"]
        assert (late["claim"]["key"], late["verdict"]) == ("late", "wrong-detail"), listed
        assert [one["code"] for one in late["findings"]] == ["year-differs"]
        assert (invented["claim"]["key"], invented["verdict"]) == ("invented", "fabricated"), listed
        lines = (tmp_path / place).read_text().splitlines()
        for one in (late["claim"], invented["claim"]):
            assert Path(one["path"]).name == place
            assert one["key"] in lines[one["line"] - 1] and "id" in lines[one["line"] - 1]
        fixed = run("check", listed, "--fix", "--write")
        assert "Traceback" not in fixed.stderr
    assert (tmp_path / "refs.yaml").read_text() == CSL


def test_a_damaged_document_is_a_problem_and_no_traceback(
    env: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("docx")
    (tmp_path / "paper.docx").write_bytes(b"PK\x03\x04 cut")
    run = citewell_in(tmp_path, env)("check", "paper.docx")
    assert run.returncode == 2
    assert "paper.docx is no sound document" in run.stderr and "Traceback" not in run.stderr


def tar_of(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("link.tex")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return packed.getvalue()


BBL = r"""\begin{thebibliography}{2}
\bibitem[Luong et~al.(2015)]{luong}
Thang Luong, Hieu Pham, and Christopher~D. Manning. 2015.
\newblock Effective approaches to attention-based neural machine translation.
\newblock In \emph{EMNLP}.
\bibitem[Example(2019)]{kettles}
Ada Example. 2019.
\newblock The patience of kettles.
\end{thebibliography}
"""
PAPER = "\\documentclass{article}\\begin{document}\\cite{luong}\\bibliography{x}\\end{document}\n"


def test_a_paper_on_arxiv_is_read_with_permission_alone(
    env: dict[str, str], tmp_path: Path, fake_sources: Any, fakes: Any
) -> None:
    source = {"main.tex": PAPER, "main.bbl": BBL, "../outside.tex": "x", "/root.tex": "x"}
    for name, body in {
        "2001.00001": tar_of(source),
        "2001.00002": gzip.compress(PAPER.replace("\\bibliography{x}", BBL).encode()),
        "2001.00003": b"<html>no</html>\0",
    }.items():
        fake_sources.canned[f"arxiv/e-print/{name}"] = fakes.Reply(body)
    base = {"CITEWELL_SOURCES_BASE_URL": fake_sources.url}
    run = citewell_in(tmp_path, env | base)("check", "arXiv:2001.00001")
    assert run.returncode == 2 and "citewell sources allow arxiv" in run.stderr
    assert not fake_sources.log
    citewell = citewell_in(tmp_path, env | base | {"CITEWELL_SOURCES_ALLOW": "arxiv"})
    run = citewell("check", "arXiv:2001.00001", "--format", "json")
    assert verdicts(run) == ["verified", "not-found"], run.stdout + run.stderr
    first = json.loads(run.stdout)["checks"][0]["claim"]
    assert (first["path"], first["key"]) == ("arXiv:2001.00001/main.bbl", "luong")
    run = citewell("check", "https://arxiv.org/abs/2001.00002v3", "--format", "json")
    assert verdicts(run) == ["verified", "not-found"], run.stdout + run.stderr
    for name, message in (("2001.00003", "neither LaTeX"), ("2001.00004", "has no paper")):
        fake_sources.canned.setdefault(f"arxiv/e-print/{name}", fakes.Reply(b"", 404))
        run = citewell("check", f"arXiv:{name}")
        assert run.returncode == 2 and message in run.stderr, run.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == []
    assert not (tmp_path.parent / "outside.tex").exists()
