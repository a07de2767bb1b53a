"""The page about the language model says who is asked, where and with which key."""

from pathlib import Path
from typing import get_args, get_type_hints

from citewell.llm.providers import PROVIDERS
from citewell.llm.versions import NAMES
from citewell.options.online import LlmOptions
from citewell.options.values import settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "llm.md").read_text(encoding="utf-8")


def test_each_provider_has_a_row_with_its_address_and_key() -> None:
    assert set(get_args(get_type_hints(LlmOptions)["provider"])) == {"none", *PROVIDERS}
    for provider in PROVIDERS.values():
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{provider.name}` |")]
        for fact in (provider.base, *provider.keys):
            assert fact in row, (provider.name, fact)


def test_each_setting_that_the_page_names_is_one() -> None:
    import re

    known = {one.name for one in settings()} | {"llm.md"}
    for name in re.findall(r"`((?:llm|retrieval|fill)\.[a-z_]+)`", PAGE):
        assert name in known, name


def test_each_program_is_named() -> None:
    assert all(f"`{name}`" in PAGE for name in NAMES)
