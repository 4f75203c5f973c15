"""`inspect` on Ray: counts, and details of single groups and rows."""
