"""pyarrow: read a parquet file and write it again, nothing computed: the floor for a copy whose columns are decoded."""

import sys

import pyarrow.parquet as pq


def main(source: str, target: str) -> None:
    """Copy a file."""
    file = pq.ParquetFile(source)
    with pq.ParquetWriter(target, file.schema_arrow, compression="snappy") as writer:
        for batch in file.iter_batches():
            writer.write_batch(batch)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
