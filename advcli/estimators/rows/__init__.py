"""Rows of the estimator catalog, one file per kind."""
