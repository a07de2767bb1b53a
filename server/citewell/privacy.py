"""Keeps the packages that Citewell uses from reporting, updating and downloading by themselves.

They read these variables when they are imported, so that `citewell` itself sets them, and each
process that it starts inherits them. docs/privacy.md lists them.
"""

import os

TYPE_CHECKING = False  # as `typing` has it, which takes longer to import than this
if TYPE_CHECKING:
    from collections.abc import Mapping

SWITCHES: "Mapping[str, Mapping[str, str]]" = {
    "any package that honours it": {"DO_NOT_TRACK": "1"},
    # Reports to its vendor, and writes an id of the machine into the user's cache.
    "onnxruntime": {"ORT_DISABLE_TELEMETRY": "1"},
    # Asks its host for a list of agents, and for its own newest version.
    "huggingface_hub": {
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    },
    # Both fetch a list of prices; LiteLLM also reads a `.env` of the current folder.
    "dspy, litellm": {
        "LITELLM_OFFLINE_MODE": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
    },
    "ray": {"RAY_USAGE_STATS_ENABLED": "0"},
}
"""Environment variables by the package that reads them."""
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Environment of all processes that we start, and of our commands: nothing is imported from the
working folder, which may be a stranger's."""


def switch_reports_off() -> None:
    """Set the variables of this process, whatever they were."""
    for variables in SWITCHES.values():
        os.environ.update(variables)
