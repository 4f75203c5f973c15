"""polars, written for memory: the groups are aggregated from the narrow columns and joined with a second scan."""

import sys

import polars as pl

from benchmarks.peers.polars import scanned, written


def main(source: str, target: str, keys: list[str], reward: str) -> None:
    """Annotate a file."""
    frame = scanned(source)
    groups = (
        frame.select(*keys, reward)
        .with_row_index("row")
        .group_by(keys)
        .agg(
            pl.col(reward).mean().alias("mean"),
            pl.col(reward).std().alias("std"),
            pl.col("row").first().alias("group"),
        )
    )
    joined = frame.join(groups, on=keys, how="left", maintain_order="left")
    advantage = (
        pl.when(pl.col("std") == 0).then(0.0).otherwise((pl.col(reward) - pl.col("mean")) / pl.col("std"))
    )
    joined = joined.with_columns(
        advantage.alias("adv_original"),
        advantage.alias("adv_processed"),
        pl.lit(value=True).alias("adv_kept"),
        pl.col("group").alias("adv_group"),
    ).drop("mean", "std", "group")
    written(joined, target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])
