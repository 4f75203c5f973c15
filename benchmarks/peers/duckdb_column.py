"""duckdb as most people write it: a window query with one new column, in the order that it comes."""

import sys

import duckdb

from benchmarks.peers.duckdb import how, reader

_QUERY = """
copy (
    select *, case when stddev_samp({reward}) over w = 0 then 0.0
        else ({reward} - avg({reward}) over w) / stddev_samp({reward}) over w end as advantage
    from {source} window w as (partition by {keys})
) to '{target}' {how}
"""


def main(source: str, target: str, keys: list[str], reward: str) -> None:
    """Annotate a file."""
    query = _QUERY.format(
        reward=reward,
        keys=", ".join(keys),
        target=target,
        source=reader(source),
        how=how(target),
    )
    duckdb.sql(query)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4])
