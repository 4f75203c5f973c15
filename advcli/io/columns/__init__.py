"""Which column plays which part: by its name, and by what the first rows hold of it."""
