"""One client's requests are limited; another's are not, and a minute fills the bucket again."""

from __future__ import annotations

from typing import Any

import pytest

from citewell.serving.guard import MAX_CLIENTS, Buckets, client_of


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_client_has_its_requests_of_a_minute_and_waits_for_the_next() -> None:
    clock = Clock()
    buckets = Buckets(6, clock)
    assert [buckets.wait("a") for _ in range(6)] == [0.0] * 6
    assert buckets.wait("a") == pytest.approx(10.0)
    clock.now += 4
    assert buckets.wait("a") == pytest.approx(6.0)
    assert buckets.wait("b") == 0.0
    clock.now += 6
    assert buckets.wait("a") == 0.0
    assert buckets.wait("a") > 0.0
    clock.now += 3_600
    assert [buckets.wait("a") for _ in range(7)][:6] == [0.0] * 6
    assert buckets.wait("a") > 0.0


def test_clients_without_end_do_not_fill_the_memory() -> None:
    buckets = Buckets(1, Clock())
    for number in range(MAX_CLIENTS + 10):
        assert buckets.wait(str(number)) == 0.0
    assert len(buckets._left) == MAX_CLIENTS
    assert buckets.wait(str(MAX_CLIENTS)) > 0.0


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("somewhere", "somewhere"),
    ],
)
def test_a_client_is_its_address_or_its_network(address: str, client: str) -> None:
    assert client_of({"client": (address, 5)}) == client


@pytest.mark.parametrize("scope", [{}, {"client": None}])
def test_a_client_without_address_is_one_client(scope: dict[str, Any]) -> None:
    assert client_of(scope) == ""
