"""Sums of rows that two parts of a data set add up: moments, histograms, percentiles, points."""
