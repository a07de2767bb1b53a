"""The settings of a public demo: what strangers may ask costs and changes nothing."""

from __future__ import annotations

from msgspec.structs import replace

from citewell.options import Options

RATE_LIMIT = 120
"""Requests per minute from one client, where the settings name no limit."""


def public_options(options: Options) -> Options:
    """The settings without sources, language model and learning, and with a rate limit."""
    serve = options.serve
    return replace(
        options,
        sources=replace(options.sources, allow=(), keep=False),
        llm=replace(options.llm, provider="none", rerank="none", reformulate=False),
        learning=replace(options.learning, enabled=False),
        serve=replace(serve, read_only=True, rate_limit=serve.rate_limit or RATE_LIMIT),
    )
