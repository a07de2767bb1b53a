"""Where `citewell serve` listens."""

import pytest

from citewell.cli.serve import serve


def test_host_and_port_come_from_flags_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_HTTP_HOST", "::1")
    monkeypatch.setenv("CITEWELL_HTTP_PORT", "8080")
    assert serve.make_context("serve", []).params["port"] == 8080
    given = serve.make_context("serve", ["--port", "9000"]).params
    assert (given["host"], given["port"]) == ("::1", 9000)
