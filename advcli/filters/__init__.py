"""Rules that keep some rows of a group or a batch and drop the others."""
