"""Freed memory goes back to the system."""

import sys

import psutil
import pytest

from citewell.engine.processes import trim_heap


@pytest.mark.skipif(sys.platform != "linux", reason="glibc keeps what is freed between objects")
def test_what_is_freed_between_objects_that_live_on_is_given_back():
    many = [bytes(2000) for _ in range(20_000)]
    kept = many[::20]
    full = psutil.Process().memory_info().rss
    del many
    trim_heap()
    given_back = full - psutil.Process().memory_info().rss
    assert given_back > 15_000_000, given_back
    assert len(kept) == 1000
