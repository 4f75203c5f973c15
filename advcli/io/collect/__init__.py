"""From batches of cells to one table of rows."""
