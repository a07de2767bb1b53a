"""Citation keys: made from records, indexed, and located."""
