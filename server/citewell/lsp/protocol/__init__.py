"""The editor: its protocol, its capabilities, its settings."""
