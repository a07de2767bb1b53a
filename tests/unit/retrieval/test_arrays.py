from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.retrieval import arrays


@pytest.mark.parametrize("shape", [(0,), (7,), (3, 5), (0, 4)])
def test_an_array_is_a_plain_npy_file(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = tmp_path / "a.npy"
    array = arrays.new_array(path, np.int32, shape)
    array[...] = 9
    arrays.flush(array)
    loaded = np.load(path, allow_pickle=False)
    assert loaded.shape == shape and loaded.dtype == np.int32 and (loaded == 9).all()
    assert (arrays.open_array(path) == loaded).all()
    arrays.save_array(path, loaded)
    np.testing.assert_array_equal(np.load(path, allow_pickle=False), loaded)


@pytest.mark.parametrize("fallocate", [True, False])
def test_the_space_of_an_array_is_taken_at_once(
    tmp_path: Path, fallocate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not fallocate:
        monkeypatch.delattr(arrays.os, "posix_fallocate", raising=False)
    path = tmp_path / "a.npy"
    arrays.new_array(path, np.uint8, (3_000_000,))
    status = path.stat()
    assert status.st_size > 3_000_000
    if hasattr(status, "st_blocks"):
        assert status.st_blocks * 512 >= 3_000_000


def test_a_cut_file_is_an_error_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(1000))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises((OSError, ValueError)):
        arrays.open_array(path)


def test_a_pickle_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError):
        arrays.open_array(path)
