"""Parquet: read a few columns, append columns without reading the others."""
