"""Advantages of a whole data set: the plan, where it runs, and the run itself."""
