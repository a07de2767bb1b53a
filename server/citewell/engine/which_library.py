"""Which library answers when the settings leave it open."""

from __future__ import annotations

from pathlib import Path

from citewell.corpus import library_path
from citewell.corpus.layout import is_library
from citewell.corpus.starter import installed_starter
from citewell.options import Options

DEFAULT = "default"
STARTER = "starter"


def which_library(options: Options) -> Path:
    """Folder of the library that the settings name.

    While nobody has built the library "default", the starter library stands in for it: after the
    first try every command and editor already has something to search. The starter is the one
    that is installed as data, or else one that was built.
    """
    named = library_path(options.library.path, options.library.name)
    if options.library.name not in (DEFAULT, STARTER) or is_library(named):
        return named
    installed = installed_starter()
    if installed is not None:
        return installed
    starter = library_path(options.library.path, STARTER)
    if is_library(starter) or (starter.is_dir() and not named.exists()):
        return starter
    return named
