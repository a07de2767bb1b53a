"""Citation keys: made, indexed, and where each is used."""
