"""Records with several rows: lists and nested objects."""
