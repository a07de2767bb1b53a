"""`citewell review` on a paper with one planted fault of each kind: all are found, and nothing else.

The library is the starter library, so that the records are those that an author has.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import clean_env

STARTER = Path(__file__).resolve().parents[2] / "corpus_tools" / "starter" / "citewell_starter"
PAPER = r"""\documentclass{article}
\title{Reading Long Documents with Small Models}
\author{Ann Ash \and Dzmitry Bahdanau}
\begin{document}
\maketitle
\section{Introduction}
Neural translation \cite{bahdanau} made attention common, and later models use only this \cite{vaswani}.
Residual networks \cite{he} and a better optimiser \cite{kingma} train them.
Two regularisers \cite{srivastava,ioffe} help.
Word vectors \cite{pennington} and contextual ones \cite{devlin} are inputs,
as are generative models \cite{goodfellow,autoencoder}.
Graph networks \cite{kipf,velickovic} read tables, and summarisers read news \cite{see,rush}.
Subwords \cite{sennrich} cover rare words, and questions \cite{rajpurkar} test all of it.
Longer sequences \cite{sutskever} and other attention \cite{luong} came before, and more data after.
\bibliographystyle{plain}
\bibliography{refs}
\end{document}
"""
BIB = r"""@inproceedings{bahdanau,
  title = {Neural Machine Translation by Jointly Learning to Align and Translate},
  author = {Bahdanau, Dzmitry and Cho, Kyunghyun and Bengio, Yoshua},
  booktitle = {International Conference on Learning Representations},
  year = {2015},
}
@inproceedings{vaswani,
  title = {Attention is All you Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan and Kaiser, Lukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems},
  pages = {5998--6008},
  year = {2017},
}
@inproceedings{he,
  title = {Deep Residual Learning for Image Recognition},
  author = {He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  pages = {770--778},
  year = {2016},
}
@inproceedings{kingma,
  title = {Adam: A Method for Stochastic Optimization},
  author = {Kingma, Diederik and Ba, Jimmy},
  booktitle = {International Conference on Learning Representations},
  year = {2015},
}
@article{srivastava,
  title = {Dropout: A Simple Way to Prevent Neural Networks from Overfitting},
  author = {Srivastava, Nitish and Hinton, Geoffrey and Krizhevsky, Alex and Sutskever, Ilya and Salakhutdinov, Ruslan},
  journal = {Journal of Machine Learning Research},
  volume = {15},
  pages = {1929--1958},
  year = {2014},
}
@inproceedings{ioffe,
  title = {Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift},
  author = {Ioffe, Sergey and Szegedy, Christian},
  booktitle = {International Conference on Machine Learning},
  pages = {448--456},
  year = {2015},
}
@inproceedings{pennington,
  title = {{GloVe}: Global Vectors for Word Representation},
  author = {Pennington, Jeffrey and Socher, Richard and Manning, Christopher},
  booktitle = {Conference on Empirical Methods in Natural Language Processing},
  pages = {1532--1543},
  year = {2014},
  doi = {10.3115/v1/d14-1162},
}
@inproceedings{devlin,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {Conference of the North American Chapter of the Association for Computational Linguistics},
  pages = {4171--4186},
  year = {2019},
  doi = {10.18653/v1/n19-1423},
}
@inproceedings{goodfellow,
  title = {Generative Adversarial Nets},
  author = {Goodfellow, Ian and Pouget-Abadie, Jean and Mirza, Mehdi and Xu, Bing and Warde-Farley, David and Ozair, Sherjil and Courville, Aaron and Bengio, Yoshua},
  booktitle = {Advances in Neural Information Processing Systems},
  pages = {2672--2680},
  year = {2014},
}
@inproceedings{autoencoder,
  title = {Auto-Encoding Variational {Bayes}},
  author = {Kingma, Diederik and Welling, Max},
  booktitle = {International Conference on Learning Representations},
  year = {2014},
}
@inproceedings{kipf,
  title = {Semi-Supervised Classification with Graph Convolutional Networks},
  author = {Kipf, Thomas and Welling, Max},
  booktitle = {International Conference on Learning Representations},
  year = {2017},
}
@inproceedings{velickovic,
  title = {Graph Attention Networks},
  author = {Veli{\v{c}}kovi{\'c}, Petar and Cucurull, Guillem and Casanova, Arantxa and Romero, Adriana and Li{\`o}, Pietro and Bengio, Yoshua},
  booktitle = {International Conference on Learning Representations},
  year = {2018},
}
@inproceedings{see,
  title = {Get To The Point: Summarization with Pointer-Generator Networks},
  author = {See, Abigail and Liu, Peter and Manning, Christopher},
  booktitle = {Annual Meeting of the Association for Computational Linguistics},
  pages = {1073--1083},
  year = {2017},
  doi = {10.18653/v1/p17-1099},
}
@inproceedings{rush,
  title = {A Neural Attention Model for Abstractive Sentence Summarization},
  author = {Rush, Alexander and Chopra, Sumit and Weston, Jason},
  booktitle = {Conference on Empirical Methods in Natural Language Processing},
  pages = {379--389},
  year = {2015},
  doi = {10.18653/v1/d15-1044},
}
@inproceedings{sennrich,
  title = {Neural Machine Translation of Rare Words with Subword Units},
  author = {Sennrich, Rico and Haddow, Barry and Birch, Alexandra},
  booktitle = {Annual Meeting of the Association for Computational Linguistics},
  pages = {1715--1725},
  year = {2016},
  doi = {10.18653/v1/p16-1162},
}
@inproceedings{rajpurkar,
  title = {{SQuAD}: 100,000+ Questions for Machine Comprehension of Text},
  author = {Rajpurkar, Pranav and Zhang, Jian and Lopyrev, Konstantin and Liang, Percy},
  booktitle = {Conference on Empirical Methods in Natural Language Processing},
  pages = {2383--2392},
  year = {2016},
  doi = {10.18653/v1/d16-1264},
}
@inproceedings{luong,
  title = {Effective Approaches to Attention-based Neural Machine Translation},
  author = {Luong, Thang and Pham, Hieu and Manning, Christopher},
  booktitle = {Conference on Empirical Methods in Natural Language Processing},
  pages = {1412--1421},
  year = {2015},
  doi = {10.18653/v1/d15-1166},
}
@inproceedings{sutskever,
  title = {Sequence to Sequence Learning with Neural Networks},
  author = {Sutskever, Ilya and Vinyals, Oriol and Le, Quoc},
  booktitle = {Advances in Neural Information Processing Systems},
  pages = {3104--3112},
  year = {2014},
}
"""

TEXT_FAULTS = (
    ("came before", r"came \cite{nobody} before", "undefined-key"),
    ("Two regularisers", r"Two \cite{} regularisers", "unresolved-placeholder"),
    ("test all of it.", "test all of it. We score the answers with BERTScore as well.",
     "name-uncited"),
    ("train them.", "train them. It has been shown that long documents need a memory of facts.",
     "sentence-uncited"),
    ("more data after.", r"more data \cite{twin,clarke,doe,preprint,other} after \cite{kipf2}.", ""),
)  # fmt: skip
"""A passage of the paper, what becomes of it, and the code of what is then found."""
BIB_FAULTS = (
    ("", "@misc{unread, title = {A Note}, author = {Ash, Ann}, year = {2020}}\n", "unused-entry"),
    ("", "@inproceedings{rush, title = {A Neural Attention Model for Abstractive Sentence "
     "Summarization}, author = {Rush, Alexander and Chopra, Sumit and Weston, Jason}, booktitle = "
     "{Conference on Empirical Methods in Natural Language Processing}, pages = {379--389}, year = "
     "{2015}, doi = {10.18653/v1/d15-1044}}\n", "bib-duplicate-key"),
    ("", "@inproceedings{twin, title = {Graph Attention Networks}, author = {Veli{\\v{c}}kovi{\\'c},"
     " Petar and others}, booktitle = {International Conference on Learning Representations}, "
     "year = {2018}}\n", "duplicate-work"),
    ("", "@book{clarke, title = {Notes on Orchards in Winter}, author = {Clarke, Cleo}, year = "
     "{2019}}\n", "missing-field"),
    ("", "@book{doe, title = {Notes on Orchards in Spring}, author = {Doe, John}, publisher = "
     "{Orchard Press}, year = {2019}}\n", "author-placeholder"),
    ("year = {2016},\n  doi = {10.18653/v1/p16", "year = {2016}\n  doi = {10.18653/v1/p16",
     "bib-missing-comma"),
    ("Kipf, Thomas and Welling, Max", "Plum, Paula and Quince, Quentin", "author-unrelated"),
    ("He, Kaiming and Zhang, Xiangyu and Ren", "He, Kaiming and Ren", "author-missing"),
    ("Jointly Learning to Align", "Slowly Learning to Align", "title-differs"),
    ("pages = {2672--2680},\n  year = {2014}", "pages = {2672--2680},\n  year = {2009}",
     "year-differs"),
    ("booktitle = {International Conference on Machine Learning},\n  pages = {448--456}",
     "booktitle = {European Conference on Computer Vision},\n  pages = {448--456}", "venue-differs"),
    ("10.18653/v1/p17-1099", "10.18653/v1/n19-1423", "doi-other-work"),
    ("", "@article{preprint, title = {Effective Neural Orchards}, author = {Clarke, Cleo}, eprint "
     "= {2013.12345}, journal = {arXiv preprint}, year = {2020}}\n", "arxiv-impossible"),
    ("", "@article{other, title = {{Language Models are Few-Shot Learners}}, author = {T. Brown and "
     "others}, journal = {arXiv preprint arXiv:2005.14165}, month = jun, year = {2020}}\n",
     "preprint-published"),
    ("", "@article{kipf2, title = {Variational Graph Auto-Encoders}, author = {Kipf, Thomas and "
     "Welling, Max}, eprint = {1611.07308}, archiveprefix = {arXiv}, journal = {CoRR}, "
     "year = {2016}}\n", "arxiv-kinds"),
    ("booktitle = {Advances in Neural Information Processing Systems},\n  pages = {3104--3112}",
     "booktitle = {NeurIPS},\n  pages = {3104--3112}", "venue-spelling"),
    ("title = {{BERT}:", "title = {BERT:", "title-capitals"),
    ("  pages = {2383--2392},\n", "", "pages-partly"),
    ("  doi = {10.18653/v1/d15-1166},\n", "  url = {http://dx.doi.org/10.18653/v1/d15-1166},\n",
     "doi-partly"),
)  # fmt: skip
"""The same of the .bib; "" is its end."""
COMBINED = {"reference-not-found", "given-names", "title-braces", "dates-partly", "doi-link"}
"""Kinds that the entries above bring with them."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    if not (STARTER / "library" / "CURRENT").is_file():
        pytest.skip("needs the starter library")
    folder = tmp_path_factory.mktemp("home")
    return clean_env(folder) | {
        "CITEWELL_LIBRARY_PATH": str(folder / "none"),
        "PYTHONPATH": str(STARTER.parent),
    }


@pytest.fixture
def citewell(env: dict[str, str], tmp_path: Path) -> Run:
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "citewell", *arguments], cwd=tmp_path, env=env,
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300,
            check=False,
        )  # fmt: skip

    return run


def plant(folder: Path) -> set[str]:
    """Write the paper with all faults; the codes of these."""
    for name, text, faults in (("paper.tex", PAPER, TEXT_FAULTS), ("refs.bib", BIB, BIB_FAULTS)):
        for old, new, _ in faults:
            assert not old or text.count(old) == 1, old
            text = text.replace(old, new) if old else text + new
        (folder / name).write_text(text, encoding="utf-8")
    return {code for *_, code in (*TEXT_FAULTS, *BIB_FAULTS) if code} | COMBINED


def faults_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    found = json.loads(done.stdout)["findings"]
    return [one for one in found if one["part"] != "suggestions"]


def test_a_clean_paper_has_no_fault(citewell: Run) -> None:
    done = citewell("review", "paper.tex", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert faults_of(done) == []
    report = json.loads(done.stdout)
    suggested = [one for one in report["findings"] if one["part"] == "suggestions"]
    assert 0 < len(suggested) <= 10
    figures = report["figures"]
    assert (figures["references"], figures["own"], figures["cited_once"]) == (18, 1, 18)


def test_every_planted_fault_is_found_and_nothing_else(citewell: Run, tmp_path: Path) -> None:
    planted = plant(tmp_path)
    assert len(planted) >= 25
    done = citewell("review", "paper.tex", "--format", "json")
    assert done.returncode == 1, done.stderr
    found = faults_of(done)
    assert sorted(one["code"] for one in found) == sorted(planted), [
        (one["code"], one["line"], one["message"]) for one in found
    ]


def test_a_policy_weighs_the_codes_of_a_review(citewell: Run, tmp_path: Path) -> None:
    plant(tmp_path)

    def weight(code: str, policy: str) -> str:
        done = citewell(
            "review", "paper.tex", "--format", "json", "--policy", policy, "--select", code
        )
        (found,) = faults_of(done)
        assert done.returncode == (found["weight"] == "blocking"), done.stderr
        return str(found["weight"])

    assert weight("reference-not-found", "default") == "note"
    assert weight("reference-not-found", "neurips-2026") == "blocking"
    (tmp_path / "mine.toml").write_text('blocking = ["name-uncited"]\n', encoding="utf-8")
    assert weight("name-uncited", "mine.toml") == "blocking"


def test_parts_codes_and_comments_choose_what_is_reported(citewell: Run, tmp_path: Path) -> None:
    plant(tmp_path)
    done = citewell("review", "paper.tex", "--format", "json", "--select", "names")
    assert done.returncode == 0, "a note does not block"
    (name,) = faults_of(done)
    assert (name["code"], name["path"], name["line"]) == ("name-uncited", "paper.tex", 13)
    assert "BERTScore: Evaluating Text Generation with BERT" in name["message"]
    note = citewell("review", "paper.tex", "--select", "name", "--fail-on", "note")
    assert note.returncode == 1
    text = (tmp_path / "paper.tex").read_text(encoding="utf-8")
    silent = text.replace(
        "BERTScore as well.", "BERTScore as well. % citewell: ignore name-uncited"
    )
    (tmp_path / "paper.tex").write_text(silent, encoding="utf-8")
    assert faults_of(citewell("review", "paper.tex", "--format", "json", "--select", "names")) == []
    unknown = citewell("review", "paper.tex", "--select", "nmaes")
    assert unknown.returncode == 2 and "Did you mean 'names'?" in unknown.stderr


SUN = r"""@article{scenes,
  title = {SUN Database: Exploring a Large Collection of Scene Categories},
  author = {Xiao, Jianxiong and Ehinger, Krista A. and Hays, James and Torralba, Antonio and Oliva, Aude},
  journal = {International Journal of Computer Vision},
  year = {2016},
}
"""


def test_versions_of_a_work_are_one_work_of_its_name(citewell: Run, tmp_path: Path) -> None:
    def named(paper: str) -> list[str]:
        (tmp_path / "paper.tex").write_text(paper, encoding="utf-8")
        (tmp_path / "refs.bib").write_text(BIB + SUN, encoding="utf-8")
        done = citewell("review", "paper.tex", "--format", "json", "--select", "names")
        return [one["message"] for one in faults_of(done)]

    # Papers cite it as of 2010 or as of 2016, by titles that differ behind the colon.
    paper = PAPER.replace("train them.", "train them. We test on the scenes of SUN397.")
    (message,) = named(paper)
    assert message.startswith("SUN397 stands for “SUN database: Large-scale scene recognition")
    assert named(paper.replace(r"\cite{vaswani}", r"\cite{vaswani,scenes}")) == []


def test_a_baseline_leaves_old_findings_out_when_lines_move(citewell: Run, tmp_path: Path) -> None:
    plant(tmp_path)
    old = citewell("review", "paper.tex", "--format", "json", "--out", "old.json")
    assert old.returncode == 1, old.stderr
    text = (tmp_path / "paper.tex").read_text(encoding="utf-8")
    moved = text.replace("\\section", "\n\n\\section").replace("\\end{document}", "And \\cite{new}.\n"
                                                             "\\end{document}")  # fmt: skip
    (tmp_path / "paper.tex").write_text(moved, encoding="utf-8")
    done = citewell("review", "paper.tex", "--format", "json", "--baseline", "old.json")
    report = json.loads(done.stdout)
    assert [(one["code"], one["key"]) for one in report["findings"]] == [("undefined-key", "new")]
    assert report["known"] > 25


def test_the_bibliography_is_made_consistent_and_nothing_else_changes(
    citewell: Run, tmp_path: Path
) -> None:
    plant(tmp_path)
    before = (tmp_path / "refs.bib").read_text(encoding="utf-8")
    shown = citewell("review", "paper.tex", "--fix")
    assert shown.returncode == 0, shown.stderr
    assert "+  title = {{BERT}:" in shown.stdout
    assert (tmp_path / "refs.bib").read_text(encoding="utf-8") == before
    assert citewell("review", "paper.tex", "--fix", "--write").returncode == 0
    after = (tmp_path / "refs.bib").read_text(encoding="utf-8")
    expected = (
        before.replace("title = {BERT:", "title = {{BERT}:")
        .replace("booktitle = {NeurIPS}", "booktitle = {Advances in Neural Information Processing Systems}")
        .replace("http://dx.doi.org/", "https://doi.org/")
    )  # fmt: skip
    assert after == expected
    left = faults_of(citewell("review", "paper.tex", "--format", "json", "--select", "consistency"))
    assert {"venue-spelling", "title-capitals", "doi-link"}.isdisjoint(one["code"] for one in left)


def test_reports_are_for_programs_and_for_readers(citewell: Run, tmp_path: Path) -> None:
    plant(tmp_path)
    log = json.loads(citewell("review", "paper.tex", "--format", "sarif").stdout)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert "venue-spelling" in rules and "work-suggested" not in rules
    lines = citewell("review", "paper.tex", "--format", "github").stdout.splitlines()
    assert any(line.startswith("::error file=paper.tex,line=14,col=") for line in lines)
    page = citewell("review", "paper.tex", "--format", "html").stdout
    assert "<script" not in page and 'role="img" aria-label="References by year: ' in page
    assert page.count("<h1>") == 1 and "Consistency of the bibliography" in page
    text = citewell("review", ".").stdout
    assert "Keys and places (" in text and "By the paper's authors: 1 (" in text


def test_nothing_is_sent(citewell: Run, env: dict[str, str], tmp_path: Path) -> None:
    plant(tmp_path)
    closed = (
        "import socket, sys\n"
        "def refuse(*given): raise SystemExit(99)\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from citewell.cli.app import root\nroot(['review', 'paper.tex'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", closed], cwd=tmp_path, env=env, capture_output=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
