"""Estimators: pure functions on tensors, each with one row in the catalog."""
