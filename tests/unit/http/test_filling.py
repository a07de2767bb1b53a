"""A document that is sent as text comes back as edits; no disk is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LATEX = """\\documentclass{article}
\\begin{document}
Café 𝛼: transformers \\cite<attention is all you need> came after
LSTMs \\cite<long short-term memory>, not \\cite<unheard teacups of porcelain>.
\\bibliography{refs}
\\end{document}
"""
BIB = """@article{mine,
  title = {Long Short-Term Memory},
  author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  year = {1997}
}
"""


def applied(text: str, edits: list[dict[str, Any]], codec: str = "", size: int = 1) -> str:
    """The text after the edits, by the unit in which their offsets count."""
    data: Any = text.encode(codec) if codec else text
    for edit in reversed(edits):
        new = edit["text"].encode(codec) if codec else edit["text"]
        data = data[: edit["start"] * size] + new + data[edit["end"] * size :]
    return str(data.decode(codec) if codec else data)


def filled(client: Any, **body: Any) -> Any:
    found = client.post("/v1/fill", json=body)
    assert found.status_code == 200, found.text
    return found.json()


def test_the_edits_make_the_texts_that_are_told(client: Any) -> None:
    found = filled(client, text=LATEX, path="main.tex", files={"refs.bib": BIB}, texts=True)
    assert found["status"] == "found"
    attention, memory, teacups = found["placeholders"]
    assert (attention["n"], attention["line"], attention["file"]) == (1, 3, "main.tex")
    assert attention["paper"]["id"] == "fx:1" and attention["paper"]["source"]
    assert (memory["key"], memory["already_there"]) == ("mine", True)
    assert "key" not in teacups and teacups["reason"]
    assert [one["file"] for one in found["edits"]] == ["refs.bib", "main.tex"]
    sent = {"main.tex": LATEX, "refs.bib": BIB}
    for one in found["edits"]:
        assert applied(sent[one["file"]], one["edits"]) == found["texts"][one["file"]]
    expected = LATEX.replace("<attention is all you need>", "{vaswani2017attention}").replace(
        "<long short-term memory>", "{mine}"
    )
    assert found["texts"]["main.tex"] == expected
    assert found["texts"]["refs.bib"].startswith(BIB)
    (entry,) = found["entries"]
    assert (entry["file"], entry["key"], entry["id"]) == (
        "refs.bib", "vaswani2017attention", "fx:1",
    )  # fmt: skip
    assert entry["bibtex"] in found["texts"]["refs.bib"]
    assert "+@inproceedings{vaswani2017attention," in found["diff"]


@pytest.mark.parametrize(
    ("unit", "codec", "size"),
    [("code-points", "", 1), ("utf-16", "utf-16-le", 2), ("utf-8", "utf-8", 1)],
)
def test_offsets_count_what_the_client_counts(
    client: Any, unit: str, codec: str, size: int
) -> None:
    body = {"text": LATEX, "path": "main.tex", "files": {"refs.bib": BIB}, "texts": True}
    found = filled(client, **body, offsets=unit)
    (main,) = [one for one in found["edits"] if one["file"] == "main.tex"]
    assert applied(LATEX, main["edits"], codec, size) == found["texts"]["main.tex"]


@pytest.mark.parametrize(
    ("pattern", "path", "target"),
    [
        ("*.bib", "main.tex", "own.bib"),
        ("bib/*.bib", "main.tex", "bib/own.bib"),
        ("../{x,bib/o*}.bib", "paper/main.tex", "bib/own.bib"),
    ],
)
def test_a_pattern_names_the_bibliographies_that_were_sent(
    client: Any, pattern: str, path: str, target: str
) -> None:
    text = LATEX.replace("\\bibliography{refs}", f"\\addbibresource[glob]{{{pattern}}}")
    found = filled(client, text=text, path=path, files={target: BIB, "more/x.bib": ""}, texts=True)
    assert found["placeholders"][1]["key"] == "mine"
    assert set(found["texts"]) == {target, path}
    assert found["texts"][path].count("bibresource") == 1
    assert "{vaswani2017attention," in found["texts"][target]


def test_choices_are_taken_and_the_others_judged(client: Any) -> None:
    body = {"text": LATEX, "path": "main.tex"}
    found = filled(
        client, **body, choices={"1": "fx:5", "2": "", "3": "10.1162/neco.1997.9.8.1735"}
    )
    first, second, third = found["placeholders"]
    assert first["paper"]["id"] == "fx:5"
    assert "key" not in second and second["reason"] == "left open, as you chose"
    assert third["paper"]["title"] == "Long Short-Term Memory"
    assert len(found["entries"]) == 2


def test_a_choice_that_cannot_be_is_refused(client: Any, problem: Any) -> None:
    for choices, code in (({"9": "fx:1"}, "placeholder-unknown"), ({"1": "x:1"}, "record-unknown")):
        found = client.post("/v1/fill", json={"text": LATEX, "choices": choices})
        assert problem(found)[1] == code


def test_a_document_with_more_places_than_may_be_is_refused(client: Any, problem: Any) -> None:
    found = client.post("/v1/fill", json={"text": "A [CITATION].\n" * 1_001})
    assert problem(found) == (413, "request-too-large")
    assert "1001" in found.json()["detail"]


def test_a_text_without_placeholders_says_so(client: Any) -> None:
    found = filled(client, text="Nothing to see.\n")
    assert found == {"status": "no_placeholders", "placeholders": []}


def test_files_that_belong_together_are_read_together(client: Any) -> None:
    part = "As \\mycite<attention is all you need> showed.\n"
    main = (
        "\\documentclass{article}\n\\usepackage{own}\n\\begin{document}\n\\input{parts/one}\n"
        "\\bibliography{lib/refs}\n\\end{document}\n"
    )
    found = filled(
        client, text=main, path="main.tex",
        files={"parts/one.tex": part, "lib/refs.bib": BIB,
               "own.sty": "\\newcommand{\\mycite}[1]{\\cite{#1}}\n"},
    )  # fmt: skip
    assert [one["file"] for one in found["edits"]] == ["lib/refs.bib", "parts/one.tex"]
    assert found["placeholders"][0]["file"] == "parts/one.tex"


@pytest.mark.parametrize(
    "name", ["../main.tex", "/etc/x.tex", "a/../../x.tex", "a\0.tex", "C:\\x.tex", "", "x" * 201]
)
def test_a_name_that_leads_out_is_refused(client: Any, problem: Any, name: str) -> None:
    found = client.post("/v1/fill", json={"text": LATEX, "files": {name: "x"}})
    assert problem(found)[0] == 422


def test_nothing_on_the_disk_is_read_or_written(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a relative name, an absolute one, or one that TeX would find in the user's folders."""
    secret = "@book{secret, title={The Secret Title}, author={Roe, Jo}, year={2001}}\n"
    for name in ("refs.bib", "part.tex", "own.sty", "paper.tex", "_quarto.yml"):
        (tmp_path / name).write_text(secret + "\\cite<attention is all you need>\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIBINPUTS", str(tmp_path))
    text = (
        f"% !TEX root = {tmp_path}/paper.tex\n\\documentclass{{article}}\n\\usepackage{{own}}\n"
        f"\\begin{{document}}\\input{{part}}\\input{{{tmp_path}/part}}\\cite<long short-term memory>"
        f"\\bibliography{{refs,{tmp_path}/refs}}\\end{{document}}\n"
    )
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    found = client.post("/v1/fill", json={"text": text, "texts": True, "threshold": 0})
    assert found.status_code == 200 and "Secret" not in found.text
    assert len(found.json()["placeholders"]) == 1
    # The same as where nothing of this is there.
    for path in before:
        path.unlink()
    again = client.post("/v1/fill", json={"text": text, "texts": True, "threshold": 0})
    assert again.json() == found.json()
    assert list(tmp_path.iterdir()) == []
    assert not list(Path(tmp_path.anchor).glob("citewell-*"))
