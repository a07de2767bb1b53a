"""The keys of a running Zotero in the editor: completed, hovered and inserted without a file.

A real server process, and a server on the loopback interface that answers as Better BibTeX does.
"""

import asyncio
import json
import socket

import pytest
import pytest_asyncio
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = "\\documentclass{article}\n\\begin{document}\n%s\n\\bibliography{refs}\n\\end{document}\n"
OWN = "@book{zuse1969,\r\n  title = {Rechnender Raum},\r\n  year = {1969},\r\n}\r\n"
BEES = (
    "@article{oeHoneyBees2019,\n  title = {A {{Study}} of {{Honey Bees}}},\n"
    "  author = {{\\=O}e, Ken},\n  year = 2019,\n  month = may,\n  journal = {Insects},\n"
    "  doi = {10.1000/bees},\n  keywords = {insects,to read},\n"
    "  file = {/home/me/Zotero/storage/ABCD/Oe 2019.pdf}\n}\n"
)
ANTS = "@book{antoniadisAnts2003,\n  title = {Ants at Work},\n  author = {Antoniadis, A.}\n}\n"


def plain(value):
    """What the client library made of a JSON object, as dictionaries."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest_asyncio.fixture(loop_scope="module")
async def cite(start_editor, library_folder):
    """Starts an editor beside a Zotero; types in a citation and gives the keys."""
    live = {}

    class Cite:
        def __init__(self, editor):
            self.editor = editor

        async def status(self):
            found = await self.editor.client.workspace_execute_command_async(
                types.ExecuteCommandParams("citewell.status", [])
            )
            return plain(found)["zotero"]

        async def loaded(self, entries):
            await self.until(lambda state: state["entries"] == entries)

        async def until(self, condition):
            """Go on citing until Zotero's state is as it should be."""
            for _ in range(200):
                state = await self.status()
                if condition(state):
                    return state
                await self.keys("\\cite{zuse|}")
                await asyncio.sleep(0.1)
            raise AssertionError(state)

        async def until_offered(self, key, citation):
            """Until the key comes first. What was read from the Zotero before may also be one entry,
            so a count does not tell which of the two was read."""
            for _ in range(200):
                keys = await self.keys(citation)
                if keys and keys[0] == key:
                    return
                await asyncio.sleep(0.1)
            raise AssertionError(keys)

        async def configure(self, url):
            """The author names another Zotero."""
            change = {"live": True, "url": url}
            found = {"zotero": live | change, "library": {"path": str(library_folder)}}
            self.editor.client.set_configuration({"citewell": found})
            self.editor.client.workspace_did_change_configuration(
                types.DidChangeConfigurationParams(settings={})
            )

        async def listens_to(self, running):
            """The author names a Zotero that has ants; what was asked of others was asked before."""
            await self.configure(running.url)
            await self.until_offered("antoniadisAnts2003", "\\cite{ants|}")

        async def until_due(self):
            """Until Zotero's export counts as old, which `refreshS` says."""
            await asyncio.sleep(live["refreshS"] + 0.1)

        def write(self, citation):
            """Put a citation into the paper; where the cursor stands then."""
            text = PAPER % citation.replace("|", "")
            old = self.editor.texts[self.editor.uri("main.tex")]
            self.editor.replace("main.tex", 0, len(old), text)
            return (PAPER % citation).index("|")

        async def items(self, citation):
            return await self.editor.complete("main.tex", self.write(citation))

        async def keys(self, citation):
            return [item.label for item in await self.items(citation)]

    async def start(url, *, settings=None, own=OWN, main="\\cite{x}", more=None):
        """A paper beside a Zotero; without `url`, one whose author has set nothing."""
        nonlocal live
        live = {"live": True, "url": url, "refreshS": 1} | (settings or {})
        files = {"main.tex": PAPER % main} | ({"refs.bib": own} if own else {}) | (more or {})
        chosen = {"zotero": live} if url else None
        editor = await start_editor(files=files, settings=chosen, alone=True)
        editor.open("main.tex")
        return Cite(editor)

    return start


@pytest.mark.parametrize("traits", [{}, {"listed_answer": True, "scope": "strict"}, {"old": True}])
async def test_a_key_of_zotero_is_completed_and_its_entry_written_as_zotero_writes_it(
    cite, zotero, traits
):
    at = await cite(zotero(BEES, ANTS, **traits).url)
    await at.loaded(2)
    item = next(i for i in await at.items("\\cite{honey|}") if i.label == "oeHoneyBees2019")
    resolved = await at.editor.client.completion_item_resolve_async(item)
    assert BEES.strip() in resolved.documentation.value
    await at.editor.accept("main.tex", item)
    assert at.editor.text("main.tex") == PAPER % "\\cite{oeHoneyBees2019}"
    added = BEES.strip().replace("\n", "\r\n")
    assert at.editor.text("refs.bib") == OWN + "\r\n" + added + "\r\n"
    assert (await at.keys("\\cite{honey|}"))[0] == "oeHoneyBees2019"
    again = (await at.items("\\cite{honey|}"))[0]
    assert again.command is None, "it is the paper's own now"
    assert at.editor.messages == []


async def test_words_of_a_placeholder_find_it_and_the_library_does_not_repeat_it(cite, zotero):
    graph = (
        "@inproceedings{velickovicGraph2018,\n  title = {Graph {{Attention Networks}}},\n"
        "  author = {Veli{\\v c}kovi{\\'c}, Petar}, year = 2018\n}\n"
    )
    at = await cite(zotero(graph, ANTS).url, own="")
    await at.loaded(2)
    items = await at.items("\\cite<graph attention networks>|")
    assert items[0].label == "velickovicGraph2018"
    assert [item.detail for item in items].count("Graph Attention Networks") == 1
    await at.editor.accept("main.tex", items[0])
    assert at.editor.text("refs.bib") == graph
    assert "\\cite{velickovicGraph2018}" in at.editor.text("main.tex")


async def test_a_key_that_only_zotero_has_is_hovered_and_its_diagnostic_mended(cite, zotero):
    at = await cite(zotero(BEES).url)
    await at.loaded(1)
    at.write("\\cite{oeHoneyBees2019|}")
    card = await at.editor.hover("main.tex", "oeHoney")
    assert "Honey Bees" in card
    assert "Zotero" in card
    actions = await at.editor.actions("main.tex", "oeHoney")
    assert actions[0].title == "Add `oeHoneyBees2019` from Zotero"
    await at.editor.act(actions[0])
    assert BEES.strip().replace("\n", "\r\n") in at.editor.text("refs.bib")
    assert "Zotero" not in await at.editor.hover("main.tex", "oeHoney")


async def test_what_changes_in_zotero_is_followed_and_an_entry_is_as_fresh_as_its_acceptance(
    cite, zotero
):
    running = zotero(BEES)
    at = await cite(running.url)
    await at.loaded(1)
    item = next(i for i in await at.items("\\cite{honey|}") if i.label == "oeHoneyBees2019")
    running.entries["oeHoneyBees2019"] = BEES.replace("year = 2019", "year = 2020")
    await at.editor.accept("main.tex", item)
    assert "year = 2020," in at.editor.text("refs.bib")
    running.entries["antoniadisAnts2003"] = ANTS
    await at.loaded(2)
    del running.entries["antoniadisAnts2003"]
    await at.loaded(1)
    assert "antoniadisAnts2003" not in await at.keys("\\cite{ants|}")


async def test_zotero_may_be_closed_and_opened_at_any_time(cite, zotero):
    running = zotero(BEES)
    at = await cite(running.url)
    await at.loaded(1)
    running.quit()
    await at.until_due()
    item = next(i for i in await at.items("\\cite{honey|}") if i.label == "oeHoneyBees2019")
    await at.editor.accept("main.tex", item)
    assert "oeHoneyBees2019" in at.editor.text("refs.bib")
    state = await at.until(lambda state: state["problem"])
    assert state["entries"] == 1
    assert state["problem"]["code"] == "zotero-away"
    assert at.editor.messages == [], "what is held goes on serving"
    zotero(BEES, ANTS, port=running.port)
    state = await at.until(lambda state: state["entries"] == 2)
    assert not state["problem"]


async def test_a_zotero_that_never_ran_is_told_once_with_a_cure(cite):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    at = await cite(url)
    await at.editor.wait_for(lambda: at.editor.messages)
    assert (await at.keys("\\cite{zus|}")) == ["zuse1969"]
    await at.until_due()
    await at.keys("\\cite{zuse|}")
    # New settings are a reason to tell it again: by then it would have been told twice.
    await at.configure(url.replace("127.0.0.1", "localhost"))
    await at.editor.wait_for(lambda: any("localhost" in one for one in at.editor.messages))
    message, _ = at.editor.messages
    assert "Start Zotero" in message and "127.0.0.1" in message


async def test_nothing_is_asked_unless_it_is_turned_on_and_never_beyond_this_machine(cite, zotero):
    running = zotero(BEES)
    at = await cite(running.url, settings={"live": False})
    assert "oeHoneyBees2019" not in await at.keys("\\cite{honey|}")
    assert "No entry" in await _hover_of(at, "oeHoneyBees2019")
    await at.listens_to(zotero(ANTS))
    assert running.requests == []
    far = await cite("http://192.0.2.1:23119")
    assert await far.keys("\\cite{zus|}") == ["zuse1969"]
    assert any("zotero.url" in message for message in far.editor.messages)


async def _hover_of(at, key):
    at.write(f"\\cite{{{key}|}}")
    return await at.editor.hover("main.tex", key)


async def test_a_workspace_cannot_turn_it_on(cite, zotero):
    running = zotero(BEES)
    line = f"zotero.live = true\nzotero.url = {json.dumps(running.url)}\n"
    at = await cite("", settings=None, more={"citewell.toml": line})
    await at.items("\\cite{honey|}")
    await at.listens_to(zotero(ANTS))
    assert running.requests == []


async def test_a_zotero_that_misbehaves_costs_nothing_but_its_keys(cite, zotero):
    manners = {
        "slow": {"seconds": 60.0},
        "flood": {"flood": True},
        "bytes": {"raw": b"\xff\xfe not text"},
        "broken": {"raw": b"@article{broken, title = {never closed"},
    }
    at = await cite(zotero(BEES).url)
    await at.loaded(1)
    for manner, traits in manners.items():
        await at.configure(zotero(BEES, **traits).url)
        for typed in ("zus", "zuse", "zuse1"):
            keys = await asyncio.wait_for(at.keys(f"\\cite{{{typed}|}}"), 10)
            assert keys[0] == "zuse1969", manner
        assert "Rechnender Raum" in await _hover_of(at, "zuse1969")
        assert not await at.keys("\\cite{oeHoneyBees|}"), manner
    await at.configure(zotero(ANTS).url)
    await at.until_offered("antoniadisAnts2003", "\\cite{ants|}")
