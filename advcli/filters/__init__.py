"""Filters: which rows of a group or a batch to keep."""
