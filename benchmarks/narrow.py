"""Narrow parquet (id, step, reward), groups of 8, contiguous and shuffled: `python -m benchmarks.narrow [--rows N]`."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import (
    PEERS,
    against_fastest,
    against_leanest,
    beside_peers,
    made,
    parser,
    table,
    workplace,
)

# From so many rows on, another target: what is imported takes no time that counts.
MANY, MOST = 100_000_000, 0.9
# Times the fastest peer, to which `import torch` is added for rows that lie in order.
ORDERS = {"contiguous": 1.0, "shuffled": 1.2}


def report(
    folder: Path, rows: int, runs: int, peers: Sequence[str] = PEERS, orders: Sequence[str] = tuple(ORDERS)
) -> list[str]:
    """The orders as Markdown."""
    lines = []
    for order in orders:
        more = ["--shuffled"] if order == "shuffled" else []
        source = made("narrow", folder / f"narrow-{order}-{rows}.parquet", "--rows", str(rows), *more)
        found = beside_peers(source, "prompt_id,step", "reward", (), runs, folder, peers)
        lines += [f"### Narrow parquet, {rows:,} rows, {order}", "", *table(found), ""]
        many = rows >= MANY
        time = against_fastest(
            found, MOST if many else ORDERS[order], torch=order == "contiguous" and not many
        )
        lines += [time, against_leanest(found), ""]
    return lines


if __name__ == "__main__":
    options = parser(__doc__ or "", rows=10_000_000)
    options.add_argument("--orders", nargs="+", choices=ORDERS, default=tuple(ORDERS))
    args = options.parse_args()
    with workplace(args.folder) as place:
        print("\n".join(report(place, args.rows, args.runs, args.peers, args.orders)))
