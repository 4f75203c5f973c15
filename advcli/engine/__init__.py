"""Computes the advantages of a dataset: the plan, the device it runs on, and the run itself."""
