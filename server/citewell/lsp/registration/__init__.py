"""Which requests are served, and which are switched off."""
