"""Asking over HTTP: pace, retry, cache, circuit breaker, keys; the only importer of httpx2."""
