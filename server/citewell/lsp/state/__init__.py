"""What one connection knows: shown lists, checks, choices."""
