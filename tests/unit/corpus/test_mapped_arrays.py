"""Arrays kept in the cache: made once for a content, and made again when they are damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from citewell.corpus.arrays import FOLDER, mapped_arrays

ARRAYS = {
    "rows": np.arange(12, dtype=np.int8).reshape(3, 4),
    "weights": np.array([0.5, 2.5], np.float32),
    "none": np.zeros((0, 3), np.uint64),
}


class Maker:
    """Counts how often the arrays are made."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> dict[str, NDArray[np.generic]]:
        self.times += 1
        return dict(ARRAYS)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / FOLDER


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "weights.npz"
    np.savez_compressed(path, a=np.arange(5))
    return path


def is_mapped(array: NDArray[np.generic]) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return True
        base = base.base
    return False


def test_arrays_are_made_once_and_mapped(cache: Path, source: Path) -> None:
    maker = Maker()
    for _ in range(2):
        found = mapped_arrays("weights", [source], maker)
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype
        assert is_mapped(found["rows"])
        assert not found["rows"].flags.writeable
    assert maker.times == 1


def test_other_content_makes_other_arrays(cache: Path, source: Path, tmp_path: Path) -> None:
    maker, text = Maker(), tmp_path / "vocab.txt"
    text.write_text("a\n")
    mapped_arrays("weights", [source, text], maker)
    text.write_text("b\n")
    mapped_arrays("weights", [source, text], maker)
    np.savez_compressed(source, a=np.arange(6))
    mapped_arrays("weights", [source, text], maker)
    mapped_arrays("others", [source, text], maker)
    assert maker.times == 4


@pytest.mark.parametrize("size", [0, 10, 40, 150, -1])
def test_a_file_that_is_cut_off_is_made_again(cache: Path, source: Path, size: int) -> None:
    maker = Maker()
    mapped_arrays("weights", [source], maker)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:size])
    found = mapped_arrays("weights", [source], maker)
    np.testing.assert_array_equal(found["weights"], ARRAYS["weights"])
    assert maker.times == 2
    assert file.read_bytes() == whole


def test_a_damaged_header_is_made_again(cache: Path, source: Path) -> None:
    maker = Maker()
    mapped_arrays("weights", [source], maker)
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes().replace(b"[3,4]", b"[4,3]"))
    assert mapped_arrays("weights", [source], maker)["rows"].shape == (3, 4)
    assert maker.times == 2


def test_without_a_cache_the_arrays_are_in_memory(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "file" / "cache"))
    found = mapped_arrays("weights", [source], Maker())
    np.testing.assert_array_equal(found["rows"], ARRAYS["rows"])
