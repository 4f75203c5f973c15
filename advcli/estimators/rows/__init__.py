"""Rows of the catalog of estimators, a file per kind."""
