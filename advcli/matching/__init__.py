"""Which rule made the logged advantages."""
