"""From words or a placeholder to a citation and its entry."""
