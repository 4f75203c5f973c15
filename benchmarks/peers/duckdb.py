"""duckdb: a window query, in the order of the input."""

import sys

import duckdb

_QUERY = """
copy (
    select * exclude (n, m, s, g),
        case when s = 0 then 0.0 else ({reward} - m) / s end as adv_original, adv_original as adv_processed,
        true as adv_kept, g as adv_group
    from (
        select *, avg({reward}) over w as m, stddev_samp({reward}) over w as s, min(n) over w as g
        from (select *, {number} as n from {source})
        window w as (partition by {keys})
    ) order by n
) to '{target}' {how}
"""


def reader(source: str) -> str:
    """The file, in SQL."""
    if source.endswith(".jsonl"):
        return f"read_json('{source}', format = 'newline_delimited')"
    return f"read_parquet('{source}')"


def how(target: str) -> str:
    """How the target is written, in SQL."""
    return "(format json)" if target.endswith(".jsonl") else "(format parquet, compression snappy)"


def main(source: str, target: str, keys: list[str], reward: str) -> None:
    """Annotate a file."""
    lines = source.endswith(".jsonl")
    query = _QUERY.format(
        reward=reward,
        keys=", ".join(keys),
        target=target,
        source=reader(source),
        number="row_number() over ()" if lines else "file_row_number",
        how=how(target),
    )
    duckdb.sql(query)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])
