"""Writers of small data files, all of our own making."""

import gzip
import json

import pytest


@pytest.fixture
def write_lines(tmp_path):
    """Write records as JSON Lines, gzipped when the name says so; returns the path."""

    def write(name, records):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(
            (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) + "\n"
            for one in records
        )
        data = text.encode("utf-8")
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.fixture
def context():
    """One citation in the schema of contexts/dev, with changes."""

    def make(**changes):
        record = {
            "id": "c1",
            "source_repo": "lee/paper",
            "file": "paper/intro.tex",
            "source_title": "On Small Things",
            "format": "latex",
            "key": "ng2019small",
            "context_before": "Small things matter. They add up.",
            "context_before_list": ["Small things matter.", "They add up."],
            "sentence": "Small models suffice for many tasks [CITATION], see also [OTHER].",
            "context_after": "We agree.",
            "gold_title": "Small Models Suffice",
            "gold_year": 2019,
            "gold_authors": ["Ada van der Ng", "Bo Li"],
            "gold_id": "acl:1",
            "gold_alt_ids": ["acl:1", "ml:1"],
            "gold_id_titles_only": None,
            "group_keys": ["ng2019small"],
            "bib_entry_raw": "@article{ng2019small, doi = {https://doi.org/10.1/ABC}}",
            "clean": True,
            "is_secondary_file": False,
            "title_in_sentence": False,
            "author_in_sentence": False,
        }
        return record | changes

    return make
