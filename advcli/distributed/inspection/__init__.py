"""`inspect` on Ray: what is counted, and single groups and rows."""
