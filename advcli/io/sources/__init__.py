"""Inputs: files, folders, URLs and standard input."""
