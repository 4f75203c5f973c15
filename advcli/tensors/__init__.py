"""Tensor operations on rows that belong to groups."""
