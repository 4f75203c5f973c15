"""polars as most people write it: a lazy scan, one new column, a sink."""

import sys

from benchmarks.peers.polars import advantage_of, scanned, written


def main(source: str, target: str, keys: list[str], reward: str) -> None:
    """Annotate a file."""
    written(scanned(source).with_columns(advantage_of(keys, reward).alias("advantage")), target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])
