"""The lint and the check against the literature."""
