"""A key that an agent names, over pipes and over HTTP: no entry comes in through it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FAKE = "x,\n title={Y}}\n\n@article{fake, title={A Paper That Nobody Wrote}, author={Nobody}"
OWN = "@misc{own, title = {Own}}\n"


@pytest.mark.parametrize("how", ["pipes", "http"])
async def test_no_entry_is_written_through_a_key(
    env: dict[str, str],
    tmp_path: Path,
    client: Any,
    serving: Any,
    over_http: Any,
    structured: Any,
    how: str,
) -> None:
    (tmp_path / "refs.bib").write_text(OWN)

    async def attack(session: Any) -> None:
        for key in (FAKE, "a b"):
            for bib in ("refs.bib", "new.bib"):
                arguments = {"id": "fx:5", "bib": bib, "key": key, "write": True}
                found = await session.call_tool("add_entry", arguments)
                assert found.is_error and "key-invalid" in found.content[0].text
        assert (tmp_path / "refs.bib").read_text() == OWN
        assert not (tmp_path / "new.bib").exists()
        done = await structured(
            session, "add_entry", id="fx:5", bib="refs.bib", key="fine:2018", write=True
        )
        assert done["key"] == "fine:2018"

    arguments = ("--root", tmp_path, "--allow-write")
    if how == "pipes":
        async with client(env, *arguments) as session:
            await attack(session)
    else:
        with serving(env, *arguments) as (url, _):
            async with over_http(url) as session:
                await attack(session)
    text = (tmp_path / "refs.bib").read_text()
    assert text.startswith(OWN) and text.count("\n@") == 1
