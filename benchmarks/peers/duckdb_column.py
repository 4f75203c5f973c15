"""duckdb as most people write it: a window query with one new column, in the order that it comes."""

import sys

import duckdb

_QUERY = """
copy (
    select *, case when stddev_samp({reward}) over w = 0 then 0.0
        else ({reward} - avg({reward}) over w) / stddev_samp({reward}) over w end as advantage
    from {source} window w as (partition by {keys})
) to '{target}' {how}
"""


def main(source: str, target: str, keys: list[str], reward: str) -> None:
    """Annotate a file."""
    lines = source.endswith(".jsonl")
    query = _QUERY.format(
        reward=reward,
        keys=", ".join(keys),
        target=target,
        source=f"read_json('{source}', format = 'newline_delimited')"
        if lines
        else f"read_parquet('{source}')",
        how="(format json)" if lines else "(format parquet, compression snappy)",
    )
    duckdb.sql(query)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])
