"""The vectors of works that the transformer computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from citewell.corpus.library import Library
from citewell.retrieval.encoders.citation import CitationEncoder
from citewell.retrieval.starter_vectors import StarterVectors

STARTER = Path(__file__).parents[3] / "corpus_tools" / "starter" / "citewell_starter" / "library"


def test_the_transformer_gives_a_work_the_vector_that_the_starter_library_ships() -> None:
    encoder = CitationEncoder()
    with Library.open(STARTER) as library:
        works = library.works(range(1000, 1400, 40))
        places, coded = StarterVectors(library, encoder).of(works)
    assert len(places) == len(works)
    length = np.linalg.norm(coded.astype(np.float32), axis=1)
    cosine = (encoder.read_works(works) * coded).sum(axis=1) / length
    by_table = encoder.encode_papers([(work.title, work.abstract) for work in works])
    # The starter library lacks some abstracts that were read for its vectors.
    assert cosine.min() > 0.75 and np.median(cosine) > 0.95
    assert np.median(cosine) > np.median((by_table * coded).sum(axis=1) / length) + 0.05
