"""Shared parts of the HTTP front ends: access control, addresses, limits and shutdown."""
