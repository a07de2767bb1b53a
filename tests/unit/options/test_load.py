"""The sources of the settings, and what happens when one of them is wrong."""

from pathlib import Path

import pytest

from citewell.options.merge import MAX_PROBLEMS_PER_SOURCE, find_workspace_file, from_wire, load
from citewell.options.tree import Options


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "config" / "config.toml"
    path.parent.mkdir()
    path.write_text("", encoding="utf-8")
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "paper"
    folder.mkdir()
    return folder


def test_nothing_set_gives_the_defaults(user_file: Path, workspace: Path) -> None:
    loaded = load(workspace, {}, user_file=user_file)
    assert loaded.options == Options()
    assert loaded.problems == ()
    assert {str(origin) for origin in loaded.origins.values()} == {"default"}


def test_each_source_wins_over_the_one_before_it(user_file: Path, workspace: Path) -> None:
    workspace_file = workspace / "citewell.toml"
    environ: dict[str, str] = {}
    wire: dict[str, object] = {}
    overrides: dict[str, object] = {}

    def now() -> tuple[int, str]:
        loaded = load(workspace, environ, wire, overrides, user_file=user_file)
        assert loaded.problems == ()
        return loaded.options.retrieval.timeout_ms, loaded.origins["retrieval.timeout_ms"].layer

    assert now() == (2000, "default")
    user_file.write_text("[retrieval]\ntimeout_ms = 1\n", encoding="utf-8")
    assert now() == (1, "user file")
    workspace_file.write_text("retrieval.timeout_ms = 2\n", encoding="utf-8")
    assert now() == (2, "workspace file")
    environ["CITEWELL_RETRIEVAL_TIMEOUT_MS"] = "3"
    assert now() == (3, "environment")
    wire["retrieval"] = {"timeoutMs": 4}
    assert now() == (4, "editor")
    overrides["retrieval.timeout_ms"] = "5"
    assert now() == (5, "flag")


def test_a_wrong_value_leaves_the_layer_below_in_force_and_is_named(
    user_file: Path, workspace: Path
) -> None:
    user_file.write_text("[retrieval]\ntimeout_ms = 7\n", encoding="utf-8")
    file = workspace / "citewell.toml"
    file.write_text('# mine\n[retrieval]\ndense = false\ntimeout_ms = "30"\n', encoding="utf-8")
    loaded = load(workspace, {}, user_file=user_file)
    assert loaded.options.retrieval.timeout_ms == 7
    assert loaded.options.retrieval.dense is False
    (problem,) = loaded.problems
    assert problem.code == "settings-wrong-value"
    assert (problem.path, problem.line) == (str(file), 4)
    assert '`retrieval.timeout_ms` is "30", but must be a whole number' in problem.message
    assert problem.hint == f"Until then, 7 applies (user file {user_file}:2)."


def test_who_may_be_sent_something_is_nobody_when_the_name_is_wrong(
    user_file: Path, workspace: Path
) -> None:
    user_file.write_text(
        '[llm]\nprovider = "openai"\n[sources]\nallow = ["crossref"]\n', encoding="utf-8"
    )
    loaded = load(workspace, {"CITEWELL_LLM_PROVIDER": "olama"}, user_file=user_file)
    assert loaded.options.llm.provider == "none"
    assert loaded.options.sources.allow == ("crossref",)
    (problem,) = loaded.problems
    assert problem.hint == 'Until then, "none" applies (default).'
    wire = {"llm": {"provider": "ollama"}, "sources": {"allow": 7}}
    loaded = load(workspace, {}, user_file=user_file, wire=wire)
    assert (loaded.options.llm.provider, loaded.options.sources.allow) == ("ollama", ())


def test_an_unknown_setting_is_named_with_its_line_and_the_nearest_one(
    user_file: Path, workspace: Path
) -> None:
    file = workspace / "citewell.toml"
    file.write_text("\n[retreival]\ntimeout_ms = 30\n\n[bib]\nabstracts = true\n", encoding="utf-8")
    first, second = load(workspace, {}, user_file=user_file).problems
    assert (first.code, first.line) == ("settings-unknown", 3)
    assert "`retreival.timeout_ms`" in first.message
    assert first.hint == "Did you mean `retrieval.timeout_ms`?"
    assert second.line == 6
    assert second.hint == "Did you mean `bib.abstract`?"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("retrieval.dense = 1", "true or false"),
        ("retrieval.timeout_ms = true", "a whole number of at least 1"),
        ("retrieval.timeout_ms = 1.5", "a whole number of at least 1"),
        ("completion.limit = 0", "of at least 1 and at most 200"),
        ('retrieval.ranker = "learnt"', '"learned" or "none"; perhaps "learned"'),
        ("retrieval.ranker = []", '"learned" or "none"'),
        ("documents.placeholders = 'X'", "a list of texts"),
        ("documents.placeholders = ['X', 1]", "a list of texts"),
        ("documents.cite_commands = ['']", 'and "" is not'),
        ("documents.cite_commands = ['ok', 'my cite']", 'and "my cite" is not'),
        ("documents.cite_commands = ['cite{']", 'such as "mycite"'),
        ("documents.cite_commands = ['werk#0']", 'and "werk#0" is not'),
        ("documents.cite_commands = [['a']]", "a list of texts"),
        ("documents.placeholders = ['XXCITE', '']", 'and "" is not'),
        ("documents.placeholders = [' ']", 'and " " is not'),
        ("documents.placeholders = ['x']", "at least two characters on one line"),
        ("documents.placeholders = [' todo']", 'and " todo" is not'),
        ('documents.placeholders = ["a\\nb"]', "at least two characters on one line"),
        ("bib.key_pattern = 2024-01-01", "a text"),
        ("library.name = '../elsewhere'", "a text that matches"),
        ("retrieval = true", "is a section, not a setting"),
    ],
)
def test_a_value_of_the_wrong_type_is_reported_with_what_is_expected(
    user_file: Path, line: str, expected: str
) -> None:
    user_file.write_text(line + "\n", encoding="utf-8")
    loaded = load(None, {}, user_file=user_file)
    assert loaded.options == Options()
    (problem,) = loaded.problems
    assert problem.code == "settings-wrong-value"
    assert expected in problem.message
    assert problem.line == 1


def test_a_malformed_cite_command_names_its_file_and_line(user_file: Path, workspace: Path) -> None:
    user_file.write_text('[documents]\ncite_commands = ["mine", "\\\\werk#2"]\n', encoding="utf-8")
    settings = workspace / "citewell.toml"
    settings.write_text('[documents]\n\ncite_commands = ["good", "not good"]\n', encoding="utf-8")
    loaded = load(workspace, {}, user_file=user_file)
    (problem,) = loaded.problems
    assert (problem.code, problem.path, problem.line) == (
        "settings-wrong-value",
        str(settings),
        3,
    )
    assert problem.hint == f"Until then, ('mine', '\\\\werk#2') applies (user file {user_file}:2)."
    assert loaded.options.documents.cite_commands == ("mine", "\\werk#2")


def test_broken_toml_is_reported_with_its_line_and_leaves_the_rest(
    user_file: Path, workspace: Path
) -> None:
    user_file.write_text("[retrieval]\ntimeout_ms = 7\n", encoding="utf-8")
    (workspace / "citewell.toml").write_text("[bib]\nabstract = yes\n", encoding="utf-8")
    loaded = load(workspace, {}, user_file=user_file)
    (problem,) = loaded.problems
    assert (problem.code, problem.line) == ("settings-syntax", 2)
    assert loaded.options.retrieval.timeout_ms == 7


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", b"a" * 1_000_001, b"x = " + b"[" * 50_000, b"\x00"],
    ids=["not-utf-8", "too-large", "too-deep", "nul"],
)
def test_a_hostile_file_is_a_problem_and_never_an_exception(
    user_file: Path, content: bytes
) -> None:
    user_file.write_bytes(content)
    loaded = load(None, {}, user_file=user_file)
    assert loaded.options == Options()
    assert [p.code for p in loaded.problems] in (["settings-unreadable"], ["settings-syntax"])


def test_a_folder_in_place_of_the_file_is_a_problem(tmp_path: Path) -> None:
    (problem,) = load(None, {}, user_file=tmp_path).problems
    assert problem.code == "settings-unreadable"


def test_a_file_full_of_unknown_settings_costs_little(user_file: Path) -> None:
    user_file.write_text("".join(f"x{n} = 1\n" for n in range(20_000)), encoding="utf-8")
    problems = load(None, {}, user_file=user_file).problems
    assert len(problems) == MAX_PROBLEMS_PER_SOURCE + 1
    assert problems[-1].message == "19980 more settings were not checked."


def test_a_named_user_file_that_is_absent_is_a_problem(tmp_path: Path) -> None:
    environ = {"CITEWELL_CONFIG": str(tmp_path / "no.toml")}
    (problem,) = load(None, environ).problems
    assert problem.code == "settings-unreadable"
    assert problem.path == str(tmp_path / "no.toml")


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(user_file: Path) -> None:
    user_file.write_bytes(b"\xef\xbb\xbf[retrieval]\r\ntimeout_ms = 9\r\n")
    loaded = load(None, {}, user_file=user_file)
    assert loaded.problems == ()
    assert loaded.options.retrieval.timeout_ms == 9


def test_settings_that_need_trust_are_refused_from_a_workspace_and_taken_from_the_user(
    user_file: Path, workspace: Path
) -> None:
    line = 'retrieval.encoders = ["somebody/model"]\n'
    (workspace / "citewell.toml").write_text(line, encoding="utf-8")
    loaded = load(workspace, {}, user_file=user_file)
    assert loaded.options.retrieval.encoders == ()
    (problem,) = loaded.problems
    assert problem.code == "settings-untrusted"
    assert "CITEWELL_RETRIEVAL_ENCODERS" in problem.hint
    user_file.write_text(line, encoding="utf-8")
    assert load(None, {}, user_file=user_file).options.retrieval.encoders == ("somebody/model",)


def test_the_environment_is_read_as_the_type_of_each_setting(user_file: Path) -> None:
    environ = {
        "CITEWELL_RETRIEVAL_DENSE": "off",
        "CITEWELL_RETRIEVAL_TIMEOUT_MS": "17",
        "CITEWELL_DOCUMENTS_PLACEHOLDERS": "XXX, [ref?]",
        "CITEWELL_LIBRARY_PATH": "~/papers",
        "CITEWELL_RETRIEVAL_RANKER": "none",
    }
    loaded = load(None, environ, user_file=user_file)
    assert loaded.problems == ()
    assert loaded.options.retrieval.dense is False
    assert loaded.options.retrieval.timeout_ms == 17
    assert loaded.options.retrieval.ranker == "none"
    assert loaded.options.documents.placeholders == ("XXX", "[ref?]")
    assert loaded.options.library.path == Path.home() / "papers"


def test_an_environment_variable_that_looks_like_a_setting_is_reported(user_file: Path) -> None:
    environ = {"CITEWELL_RETRIEVAL_DENSITY": "1", "CITEWELL": "x", "OTHER": "y"}
    (problem,) = load(None, environ, user_file=user_file).problems
    assert problem.code == "settings-unknown"
    assert "CITEWELL_RETRIEVAL_DENSE" in problem.hint


def test_editor_settings_are_camel_case_and_null_means_not_set() -> None:
    loaded = from_wire(
        {"retrieval": {"timeoutMs": 5, "idleMinutes": None}, "diagnostics.delayMs": 9}
    )
    assert loaded.problems == ()
    assert loaded.options.retrieval.timeout_ms == 5
    assert loaded.options.retrieval.idle_minutes == 15
    assert loaded.options.diagnostics.delay_ms == 9


def test_relative_paths_are_taken_from_the_file_that_names_them(user_file: Path) -> None:
    user_file.write_text('library.path = "papers"\n', encoding="utf-8")
    assert load(None, {}, user_file=user_file).options.library.path == user_file.parent / "papers"


def test_the_nearest_workspace_file_is_taken_up_to_the_root(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "citewell.toml").touch()
    assert find_workspace_file(inner / "paper.tex", tmp_path / "a") is None
    assert find_workspace_file(inner / "paper.tex", tmp_path) == tmp_path / "citewell.toml"
    (tmp_path / "a" / "citewell.toml").touch()
    assert find_workspace_file(inner, None) == tmp_path / "a" / "citewell.toml"


def test_without_a_root_the_search_ends_at_the_repository(tmp_path: Path) -> None:
    (tmp_path / "citewell.toml").touch()
    repository = tmp_path / "paper"
    (repository / ".git").mkdir(parents=True)
    assert find_workspace_file(repository / "main.tex", None) is None


@pytest.mark.parametrize(
    "target",
    ["/tmp/x.bib", "../x.bib", "a/../../x.bib", "~/x.bib", "C:/x.bib", "a\\..\\x.bib", "//h/x.bib"],
)
def test_a_workspace_file_names_nothing_outside_of_the_paper(
    user_file: Path, workspace: Path, target: str
) -> None:
    for name, value, kept in (
        ("bib.target", target, ""),
        ("hover.style", target[:-3] + "csl", "apa"),
    ):
        section, leaf = name.split(".")
        (workspace / "citewell.toml").write_text(f"[{section}]\n{leaf} = '{value}'\n", "utf-8")
        loaded = load(workspace, {}, user_file=user_file)
        assert getattr(getattr(loaded.options, section), leaf) == kept
        (problem,) = loaded.problems
        assert (problem.code, problem.line) == ("settings-outside", 2)
    user_file.write_text(f"[bib]\ntarget = '{target}'\n", encoding="utf-8")
    assert load(None, {}, user_file=user_file).options.bib.target == target


@pytest.mark.parametrize("target", ["refs.bib", "bib/own refs.bib", "a..b.bib"])
def test_a_workspace_file_names_a_file_below_the_paper(
    user_file: Path, workspace: Path, target: str
) -> None:
    (workspace / "citewell.toml").write_text(f'[bib]\ntarget = "{target}"\n', encoding="utf-8")
    loaded = load(workspace, {}, user_file=user_file)
    assert (loaded.options.bib.target, loaded.problems) == (target, ())


def test_a_switch_of_no_feature_is_named_with_the_nearest_one(user_file: Path) -> None:
    user_file.write_text("[features.switches]\nrenam = false\n", encoding="utf-8")
    loaded = load(None, {}, user_file=user_file)
    (problem,) = loaded.problems
    assert 'has no "renam"; perhaps "rename"' in problem.message
    assert loaded.options.features.switches == {}


def test_every_setting_that_may_name_a_place_or_send_something_is_marked() -> None:
    """A new setting that sounds like one of these is decided about before it ships."""
    from citewell.options.values import settings

    words = ("path", "file", "folder", "url", "target", "style", "host", "key", "command", "model",
             "encoder", "provider", "allow", "contact", "token", "program", "version")  # fmt: skip
    harmless = {"bib.key_pattern", "documents.cite_commands",
                "documents.default_command", "retrieval.cross_encoder_ms"}  # fmt: skip
    named = {s.name for s in settings() if any(word in s.name.split(".")[-1] for word in words)}
    open_ones = {s.name for s in settings() if not (s.trusted_only or s.stays_inside)}
    assert named & open_ones <= harmless


def test_the_working_folder_may_be_removed(
    user_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    loaded = load(None, environ={"CITEWELL_LIBRARY_PATH": "papers"}, user_file=user_file)
    assert loaded.options.library.path == Path.home() / "papers"
