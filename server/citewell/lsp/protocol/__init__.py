"""The editor at the other end: its protocol, its capabilities, its settings."""
