"""The page of `advcli report`."""
