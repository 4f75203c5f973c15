"""One file per command: its options, and what it calls."""
