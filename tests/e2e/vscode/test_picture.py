"""The picture of the pages about VS Code: a paper of our own, its list of papers, its references.

clients/vscode/media/completion.png is what it leaves in test-output, with fewer colours.
"""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
DEMO = REPOSITORY / "server" / "citewell" / "cli" / "demo_paper"
CHECKED = """
@inproceedings{luong2015effective,
  title     = {Effective Approaches to Attention-based Neural Machine Translation},
  author    = {Luong, Thang and Pham, Hieu and Manning, Christopher D.},
  booktitle = {Proceedings of the 2015 Conference on Empirical Methods in Natural Language Processing},
  year      = {2013}
}
"""


def test_the_list_and_the_references_are_shown_side_by_side(window, copied):
    folder = copied(DEMO)
    with (folder / "references.bib").open("a", encoding="utf-8") as bib:
        bib.write(CHECKED)
    paper = (folder / "paper.tex").read_text(encoding="utf-8")
    paper = paper.replace(
        "The same mechanism", "Others \\citep{luong2015effective} followed. The same mechanism"
    )
    paper = paper.replace("citep{}", "citep{pennington2014glove}").replace(
        "citep<neural", "citep{transformer}<neural"
    )
    (folder / "paper.tex").write_text(
        paper.replace(
            "{transformer}<neural machine translation by jointly learning to align and translate>",
            "{transformer}",
        ),
        encoding="utf-8",
    )
    code = window(folder)
    code.open("paper.tex")
    code.wait_ready()
    code.command("Citewell: Show References of This Document")
    code.webview().locator("li.reference").filter(has_text="wrong detail").first.wait_for()
    code.webview().locator("li.reference").filter(has_text="Verified").first.wait_for()
    code.open("paper.tex")
    code.goto_text("paper.tex", "The same mechanism")
    code.type("Attention can also follow the edges of a graph \\citep<graph attention net")
    code.wait(lambda: code.suggestions()[:1] == ["Veličković et al. 2018 · Graph Attentio…"])
    assert not code.cut_off(".suggest-widget")
    code.screenshots("picture")
