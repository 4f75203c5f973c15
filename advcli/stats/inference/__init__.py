"""How sure a figure is: intervals, tests, pairs of data sets, distributions."""
