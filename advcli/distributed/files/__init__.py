"""What tasks do with files: retries, objects in a store, complete outputs, and which of them are done."""
