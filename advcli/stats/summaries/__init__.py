"""Summaries of columns: moments, histograms, percentiles, points, cells per prompt and step."""
