"""Open documents, their files and projects, in their current state."""
