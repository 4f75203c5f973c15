"""What a command was asked to do."""

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


class ReadAhead(Protocol):
    """Inputs that are found, and read or being read, before a command asks for them."""

    def sources(self) -> list[Source]:
        """The inputs; none if they have to be found."""

    def table(
        self, sources: Sequence[Source], options: ColumnOptions, refused: Collection[str]
    ) -> RewardTable | None:
        """The table of these inputs; None if it has to be read."""


@dataclass(frozen=True)
class Request:
    """What a command was asked to do.

    Attributes:
        inputs: files, globs, folders, or "-".
        settings: how advantages are computed.
        columns: which columns the user asked for.
        skip_bad_rows: count bad rows instead of stopping at the first.
        warnings: what came up while the request was made.
        origin: setting → where it was read from, "" for the command line.
        prefetch: the inputs that are read already or being read, or None.
        ray_address: where Ray runs, for the commands on Ray; None to start it.
    """

    inputs: tuple[str, ...]
    settings: Settings
    columns: ColumnOptions
    skip_bad_rows: bool = False
    warnings: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)
    prefetch: ReadAhead | None = None
    ray_address: str | None = None

    def plan(self) -> Plan:
        """Check the settings; an error says where the wrong one comes from."""
        try:
            return Plan.of(self.settings)
        except UsageError as error:
            position = self.origin.get(error.about or "")
            if not position:
                raise
            raise UsageError(f"{position}: {error.message}", hint=error.hint) from error

    @contextmanager
    def opened(self) -> Iterator[list[Source]]:
        """The inputs: those that are being read ahead, if they are still the same, so that no file is looked at twice."""
        ahead = self.prefetch.sources() if self.prefetch else []
        if ahead and all(_is_same(source) for source in ahead):
            yield ahead
            return
        with opened(self.inputs, max_line=self.columns.max_line) as sources:
            yield sources

    def load(
        self, sources: Sequence[Source], refused: Sequence[str] = (), *, repeats: bool = True
    ) -> DataSet:
        """Read and group the inputs; `repeats`: count exact repeats, unless another place does."""
        table = self.ahead(sources, self.columns, refused)
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

    def ahead(
        self, sources: Sequence[Source], columns: ColumnOptions, refused: Sequence[str] = ()
    ) -> RewardTable | None:
        """The prefetched table, if it has these columns of these inputs."""
        return self.prefetch.table(sources, columns, refused) if self.prefetch else None


def _is_same(source: Source) -> bool:
    """Whether a file is as it was when it was found; what follows a part of it does not matter."""
    try:
        return source.part is not None or stamp(source.path) == source.stamp
    except OSError:
        return False
