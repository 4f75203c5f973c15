"""Dumps in, annotated files out."""
