"""A paper of texts is read as one of files is, and no disk is looked at."""

from pathlib import Path

import pytest

from citewell.documents.project.paper_project import TextProject
from citewell.model import CitewellError
from citewell.options import Options

BIB = "@misc{a, title = {A Title}, year = {2001}}\n"


def test_the_files_belong_together_as_they_do_on_a_disk() -> None:
    texts = {
        "main.tex": "\\documentclass{article}\\begin{document}\\include{parts/one}"
        "\\bibliography{lib/refs}\\end{document}",
        "parts/one.tex": "\\cite{a} \\cite<words>",
        "lib/refs.bib": BIB,
    }
    project = TextProject.of(texts, "main.tex", Options())
    assert [project.name_of(path) for path in project.documents] == ["main.tex", "parts/one.tex"]
    assert [one.title for one in project.citing_paper().references] == ["A Title"]
    assert project.name_of(project.target_bib()) == "lib/refs.bib"


def test_what_lies_on_the_disk_is_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "refs.bib").write_text(BIB)
    (tmp_path / "part.tex").write_text("\\cite<words>")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIBINPUTS", str(tmp_path))
    text = f"\\input{{{tmp_path}/part}}\\input{{part}}\\bibliography{{refs,{tmp_path}/refs}}"
    project = TextProject.of({"p.tex": text}, "p.tex", Options())
    assert len(project.documents) == 1 and project.bibliographies == ()
    assert project.may_write(project.target_bib()) and not project.may_write(tmp_path / "refs.bib")


@pytest.mark.parametrize("name", ["../p.tex", "/p.tex", "a/../../p.tex", "", ".", "a\0", "C:\\p"])
def test_a_name_that_leads_out_is_refused(name: str) -> None:
    with pytest.raises(CitewellError) as error:
        TextProject.of({name: ""}, name, Options())
    assert error.value.problem.code == "file-name"
