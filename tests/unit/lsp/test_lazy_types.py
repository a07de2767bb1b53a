"""The classes of the protocol, completed on demand, are those that the library makes at once."""

import json
import subprocess
import sys

import attrs
import pytest
from lsprotocol import converters, types

LOADED = "from citewell.lsp.protocol.lazy_types import load_types; load_types()\n"

DESCRIBE = """
import attrs, inspect, json, lsprotocol.converters
from lsprotocol import types

def described(cls):
    fields = [(f.name, str(f.type), str(f.default), f.kw_only, bool(f.validator)) for f in attrs.fields(cls)]
    own = sorted({name for name in ("__eq__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__")
                  if getattr(cls, name) is not getattr(object, name)})
    return [fields, str(inspect.signature(cls.__init__)), own, cls.__hash__ is None]

found = {name: described(cls) for name, cls in sorted(vars(types).items())
         if isinstance(cls, type) and attrs.has(cls)}
"""


def run(code: str) -> str:
    """What code prints in a process that loads the classes on demand."""
    command = [sys.executable, "-c", LOADED + code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_class_has_the_fields_and_the_methods_of_the_library():
    namespace: dict[str, object] = {}
    converters.get_converter()
    exec(DESCRIBE, namespace)
    here = json.loads(json.dumps(namespace["found"]))
    there = json.loads(run(DESCRIBE + "print(json.dumps(found))"))
    assert len(there) > 500
    assert there == here


def test_a_class_is_completed_when_it_is_first_used():
    code = """
from lsprotocol import types
done = lambda cls: isinstance(cls.__dict__["__attrs_attrs__"], tuple)
print(done(types.Position), done(types.Range))
types.Position(line=1, character=2)
print(done(types.Position), done(types.Range))
"""
    assert run(code).split() == ["False", "False", "True", "False"]


MESSAGE = {"textDocument": {"uri": "file:///a.tex"}, "position": {"line": 3, "character": 4}}


def test_messages_are_read_and_written_as_by_the_library():
    code = f"""
import json
from lsprotocol import converters, types
converter = converters.get_converter()
read = converter.structure({MESSAGE!r}, types.HoverParams)
print(json.dumps(converter.unstructure(read)))
print(repr(read) , read == converter.structure({MESSAGE!r}, types.HoverParams))
print(types.Position(1, 2) < types.Position(1, 3), types.Position(2, 0) >= types.Position(1, 3))
"""
    converter = converters.get_converter()
    read = converter.structure(MESSAGE, types.HoverParams)
    written, shown, order = run(code).splitlines()
    assert json.loads(written) == converter.unstructure(read) == MESSAGE
    assert shown == f"{read!r} True"
    assert order == "True True"


def test_a_wrong_value_is_refused():
    code = """
from lsprotocol import types
for values in ((-1, 0), ()):
    try:
        types.Position(*values)
    except (ValueError, TypeError) as error:
        print(type(error).__name__)
"""
    assert run(code).split() == ["ValueError", "TypeError"]


def test_two_threads_may_use_a_class_at_once():
    code = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from lsprotocol import types
import sys
sys.setswitchinterval(1e-6)
made = [cls for cls in (types.Position, types.Hover, types.TextEdit, types.Command, types.Location)]
values = [(1, 2), ("x",), (None, "x"), ("t", "c"), ("u", None)]
start = Barrier(4)
def make(_):
    start.wait()
    return [cls(*one) for cls, one in zip(made, values)]
with ThreadPoolExecutor(4) as pool:
    found = list(pool.map(make, range(4)))
print(all(one == found[0] for one in found))
"""
    assert run(code).split() == ["True"]


def test_the_library_defines_classes_as_before_afterwards():
    code = """
import attrs
@attrs.define
class One:
    x: int
print(attrs.fields(One).x.name, One(1))
"""
    assert run(code).split() == ["x", "One(x=1)"]


@pytest.mark.parametrize("cls", [types.Position, types.CompletionList])
def test_classes_that_were_imported_before_stay_as_they_are(cls):
    from citewell.lsp.protocol.lazy_types import load_types

    load_types()
    assert attrs.fields(cls)
    assert "__slots__" in cls.__dict__
