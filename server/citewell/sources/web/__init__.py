"""HTTP requests to sources: rate limits, retries, cache, circuit breaker, keys; the only importer
of httpx2."""
