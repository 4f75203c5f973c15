"""JSON Lines: read a few fields, append keys to each line."""
