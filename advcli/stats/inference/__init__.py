"""Statistical inference: intervals, tests, paired comparisons, distributions."""
