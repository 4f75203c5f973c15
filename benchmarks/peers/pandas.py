"""pandas: read all, transform by group, write."""

import sys

import pandas as pd


def main(source: str, target: str, keys: list[str], reward: str) -> None:
    """Annotate a file."""
    lines = source.endswith(".jsonl")
    frame = pd.read_json(source, lines=True, dtype=False) if lines else pd.read_parquet(source)
    groups = frame.groupby(keys, sort=False)[reward]
    std = groups.transform("std")
    frame["adv_original"] = ((frame[reward] - groups.transform("mean")) / std).mask(std == 0, 0.0)
    frame["adv_processed"] = frame["adv_original"]
    frame["adv_kept"] = True
    frame["adv_group"] = groups.ngroup()
    if lines:
        frame.to_json(target, orient="records", lines=True, force_ascii=False)
    else:
        frame.to_parquet(target, compression="snappy", index=False)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])
