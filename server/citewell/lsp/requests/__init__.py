"""One module per request of the protocol."""
