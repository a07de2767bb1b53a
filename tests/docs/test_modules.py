"""Modules are small enough to be read at once."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MAX_LINES = 350


def test_no_module_is_longer_than_the_limit() -> None:
    lengths = {
        str(path.relative_to(REPOSITORY)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("server/citewell", "corpus_tools/citewell_corpus")
        for path in (REPOSITORY / folder).rglob("*.py")
    }
    assert len(lengths) > 100
    assert not {path: lines for path, lines in lengths.items() if lines > MAX_LINES}
