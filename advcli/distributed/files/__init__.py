"""How tasks read and write files: retries, object stores, atomic outputs, and resuming."""
