"""One module per framework: `ROWS`, the rules behind `--like`."""
