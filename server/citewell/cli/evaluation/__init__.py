"""The commands that measure and tune: `eval`, `tune`, `prompts` and `compare-models`."""
