"""A real library, small enough to be built in a second, and papers that cite from it."""

from pathlib import Path

import pytest
from tests.unit.engine_of_records import options_of

TITLES = [
    (
        "Attention Mechanisms for Sentence Translation",
        "Translation with attention over words.",
        2015,
    ),
    (
        "Graph Convolutions on Molecules",
        "Convolution on graphs predicts molecular properties.",
        2016,
    ),
    ("Dropout Regularises Deep Networks", "Units are dropped at random in training.", 2014),
    ("Learning Word Vectors from Co-occurrence", "Vectors of words from global counts.", 2014),
    ("Parsing with Neural Transitions", "A transition parser scored by a network.", 2014),
    ("Beam Search Revisited", "How wide a beam should be in decoding.", 2018),
    ("Question Answering over Tables", "Answers are read from cells of tables.", 2020),
    ("Contrastive Learning of Images", "Representations by contrasting augmented views.", 2020),
    ("Adam-like Optimisers Compared", "Adaptive moments in stochastic optimisation.", 2019),
    ("Topic Models with Anchors", "Anchor words make topic models fast.", 2013),
    ("Speech Recognition without Phonemes", "Characters are enough to transcribe speech.", 2016),
    ("Coreference as Clustering", "Mentions are grouped by their antecedents.", 2017),
]


@pytest.fixture(scope="session")
def library_options(tmp_path_factory):
    """Settings whose library holds the works above, with both indexes."""
    lines = [
        {
            "id": f"t:{n}",
            "title": title,
            "abstract": abstract,
            "year": year,
            "authors": [f"Given Family{n}"],
            "kind": "inproceedings",
            "doi": f"10.5555/t.{n}",
            "source": "test-records",
        }
        for n, (title, abstract, year) in enumerate(TITLES)
    ]
    return options_of(lines, tmp_path_factory.mktemp("libraries"))


@pytest.fixture
def paper(tmp_path) -> Path:
    """A paper of two files that cites five works, one of which is in no library."""
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\n\\title{On Networks}\n\\begin{document}\n"
        "\\begin{abstract}We study networks.\\end{abstract}\n\\section{Introduction}\n"
        "Sentence translation uses attention mechanisms~\\cite{attention}. "
        "Units are dropped at random and words are vectors of counts \\cite{drop,vectors}.\n"
        "\\input{more}\n\\nocite{beam}\n\\bibliography{refs}\n\\end{document}\n",
        encoding="utf-8",
    )
    (tmp_path / "more.tex").write_text(
        "\\section{Related work}\nAn essay said so \\cite{essay}, and someone too \\cite{gone}. "
        "Convolution on graphs predicts molecular properties \\cite{graphs}.\n",
        encoding="utf-8",
    )
    (tmp_path / "refs.bib").write_text(
        "@inproceedings{attention, title={Attention Mechanisms for Sentence Translation}, year=2015}\n"
        "@inproceedings{drop, title={Other Words}, year=2014, doi={10.5555/T.2}}\n"
        "@article{vectors, title={{Learning} word vectors from co-occurrence}, year=2014}\n"
        "@book{essay, title={An Essay of Nobody}, year=1999}\n"
        "@article{graphs, title={Graph Convolutions on Molecules}, year=2017}\n"
        "@article{graphs2, title={Graph convolutions on molecules}, year=2016}\n"
        "@article{beam, title={Beam Search Revisited}, year=2018}\n",
        encoding="utf-8",
    )
    return tmp_path / "main.tex"
