"""Estimators: pure functions on tensors, one row of the catalog each."""
