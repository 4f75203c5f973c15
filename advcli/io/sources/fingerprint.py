"""Checksums of the inputs."""

import hashlib
from collections.abc import Sequence

from advcli.records.results.page import InputFile
from advcli.records.table import RewardTable, Source


def fingerprints(sources: Sequence[Source], table: RewardTable) -> tuple[InputFile, ...]:
    """Name, size, SHA-256 and rows of each input.

    Args:
        sources: the inputs.
        table: the table read from them.
    """
    result = []
    for source, rows in zip(sources, table.rows, strict=True):
        path = source.origin or source.path
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        result.append(InputFile(source.name, path.stat().st_size, digest, rows))
    return tuple(result)
