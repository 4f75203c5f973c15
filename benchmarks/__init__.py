"""How fast and how lean advcli is beside what people would use instead: see README.md."""
