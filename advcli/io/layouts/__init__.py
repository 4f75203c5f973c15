"""Rows within records: lists and objects that hold several rows."""
