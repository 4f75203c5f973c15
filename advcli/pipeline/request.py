"""The request of a command: inputs, settings and columns."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from advcli.common.errors import UsageError
from advcli.dataset import load as data_set
from advcli.dataset.load import DataSet
from advcli.engine.plan import Plan
from advcli.io.inputs import opened
from advcli.io.sources.find import stamp
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions, RewardTable, Source


class PrefetchedInputs(Protocol):
    """Inputs that are found, and possibly read, before a command needs them."""

    def sources(self) -> list[Source]:
        """The inputs; empty if they are not found yet."""

    def table(
        self, sources: Sequence[Source], options: ColumnOptions, refused: Collection[str]
    ) -> RewardTable | None:
        """The table of these inputs; None if it is not prefetched."""


@dataclass(frozen=True)
class Request:
    """The request of a command.

    Attributes:
        inputs: files, globs, folders, or "-".
        settings: how advantages are computed.
        columns: the columns that the user asked for.
        skip_bad_rows: count bad rows instead of stopping at the first.
        warnings: warnings from building the request.
        origin: setting → where it was read from, "" for the command line.
        prefetch: the prefetched inputs, or None.
        ray_address: address of a Ray cluster; None to start a local one.
    """

    inputs: tuple[str, ...]
    settings: Settings
    columns: ColumnOptions
    skip_bad_rows: bool = False
    warnings: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)
    prefetch: PrefetchedInputs | None = None
    ray_address: str | None = None

    def plan(self) -> Plan:
        """Check the settings; an error says where the invalid one comes from."""
        try:
            return Plan.of(self.settings)
        except UsageError as error:
            position = self.origin.get(error.about or "")
            if not position:
                raise
            raise UsageError(f"{position}: {error.message}", hint=error.hint) from error

    @contextmanager
    def opened(self) -> Iterator[list[Source]]:
        """The inputs; the prefetched ones if they have not changed, so that no file is opened twice."""
        prefetched = self.prefetch.sources() if self.prefetch else []
        if prefetched and all(_is_same(source) for source in prefetched):
            yield prefetched
            return
        with opened(self.inputs, max_line=self.columns.max_line) as sources:
            yield sources

    def load(
        self, sources: Sequence[Source], refused: Sequence[str] = (), *, repeats: bool = True
    ) -> DataSet:
        """Read and group the inputs; `repeats`: whether to count exact duplicates."""
        table = self.prefetched(sources, self.columns, refused)
        data = data_set.load(
            sources,
            self.columns,
            self.settings,
            refused=refused,
            skip_bad_rows=self.skip_bad_rows,
            table=table,
        )
        similarity = float(self.settings.knobs.get("similarity", 0))
        if similarity:
            data = data_set.with_alike(data, sources, similarity)
        return replace(data, table=data_set.with_repeats(data.table, sources)) if repeats else data

    def prefetched(
        self, sources: Sequence[Source], columns: ColumnOptions, refused: Sequence[str] = ()
    ) -> RewardTable | None:
        """The prefetched table, if it has these columns of these inputs."""
        return self.prefetch.table(sources, columns, refused) if self.prefetch else None


def _is_same(source: Source) -> bool:
    """Whether a file is unchanged since it was found; data after the part to read may change."""
    try:
        return source.part is not None or stamp(source.path) == source.stamp
    except OSError:
        return False
