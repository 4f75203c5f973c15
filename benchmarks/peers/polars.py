"""polars: a lazy scan, expressions over the group, a sink."""

import sys

import polars as pl


def scanned(source: str) -> pl.LazyFrame:
    """The file, read when it is asked for."""
    return pl.scan_ndjson(source) if source.endswith(".jsonl") else pl.scan_parquet(source)


def advantage_of(keys: list[str], reward: str) -> pl.Expr:
    """Reward minus the mean of its group, over the standard deviation of the group."""
    r = pl.col(reward)
    std = r.std().over(keys)
    return pl.when(std == 0).then(0.0).otherwise((r - r.mean().over(keys)) / std)


def written(frame: pl.LazyFrame, target: str) -> None:
    """Write what a frame gives, in the kind of file that the target's name says."""
    if target.endswith(".jsonl"):
        frame.sink_ndjson(target)
    else:
        frame.sink_parquet(target, compression="snappy")


def main(source: str, target: str, keys: list[str], reward: str) -> None:
    """Annotate a file."""
    advantage = advantage_of(keys, reward)
    frame = (
        scanned(source)
        .with_row_index("row")
        .with_columns(
            advantage.alias("adv_original"),
            advantage.alias("adv_processed"),
            pl.lit(value=True).alias("adv_kept"),
            pl.col("row").first().over(keys).alias("adv_group"),
        )
        .drop("row")
    )
    written(frame, target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])
