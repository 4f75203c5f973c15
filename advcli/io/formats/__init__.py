"""The dump formats: which file is which, and which column is what."""
