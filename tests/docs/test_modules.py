"""Modules are small enough to be read at once, and there are no more of them than before."""

import runpy
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MAX_LINES = 600
BOUNDS = {
    "server: lines": 96920,
    "server: files": 405,
    "corpus tools and lab: lines": 25362,
    "corpus tools and lab: files": 126,
    "files with fewer than 60 lines": 14,
    "class names that occur more than once": 4,
    "most files in one folder": 28,
}
"""The figures of `scripts/size.py` that were reached: they only fall."""


def test_no_module_is_longer_than_the_limit() -> None:
    lengths = {
        str(path.relative_to(REPOSITORY)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in (
            "server/citewell",
            "corpus_tools/citewell_corpus",
            "corpus_tools/citewell_lab",
        )
        for path in (REPOSITORY / folder).rglob("*.py")
    }
    assert len(lengths) > 100
    assert not {path: lines for path, lines in lengths.items() if lines > MAX_LINES}


def test_the_code_does_not_grow() -> None:
    found = runpy.run_path(str(REPOSITORY / "scripts/size.py"))["figures"]()
    assert found.keys() == BOUNDS.keys()
    assert not {name: (n, BOUNDS[name]) for name, n in found.items() if n > BOUNDS[name]}
