"""The data of `advcli report`: the figures of the other commands, and the data of its plots."""

from collections.abc import Mapping
from dataclasses import dataclass

from advcli.records.results.between import Between
from advcli.records.results.inspection import Inspection
from advcli.records.results.match import Match
from advcli.records.results.prompts import Prompts
from advcli.records.results.report import Report
from advcli.records.results.verify import Verify


@dataclass(frozen=True)
class InputFile:
    """An input file of the report.

    Attributes:
        name: its name as typed.
        size: size in bytes.
        sha256: hexadecimal SHA-256 of the file on disk.
        rows: its rows.
    """

    name: str
    size: int
    sha256: str
    rows: int


@dataclass(frozen=True)
class Histogram:
    """Counts of one or several columns over the same bins.

    Attributes:
        edges: [B + 1] the edges of the bins; () if there is a bar per value.
        values: [B] the value of each bar; () if there are bins.
        counts: column → [B] counts.
        outside: column → number of values below or above all bins.
    """

    edges: tuple[float, ...]
    values: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    outside: Mapping[str, int]


@dataclass(frozen=True)
class GroupPoints:
    """Mean and standard deviation of the rewards of each group; equal groups share a point.

    Attributes:
        mean: [P] mean reward.
        std: [P] standard deviation, ddof 1.
        groups: [P] number of groups at this point.
        dead: [P] whether all rewards of these groups are equal.
        shown: groups at these points.
        total: groups with two or more valid rows.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    groups: tuple[int, ...]
    dead: tuple[bool, ...]
    shown: int
    total: int


@dataclass(frozen=True)
class LengthPoints:
    """Length and original advantage of some rows, and their mean over rows of similar length.

    Attributes:
        length: [P] tokens.
        advantage: [P].
        group: [P] the number of the row's group.
        total: rows with both.
        bin_length: [B] mean length of each tenth of all rows, shortest first.
        bin_advantage: [B] mean advantage of the same rows.
    """

    length: tuple[float, ...]
    advantage: tuple[float, ...]
    group: tuple[int, ...]
    total: int
    bin_length: tuple[float, ...]
    bin_advantage: tuple[float, ...]


@dataclass(frozen=True)
class KeepGrid:
    """The effect of a grid of keep ratios, with all other settings unchanged.

    Attributes:
        keep_pos: [X] shares of the positive rows.
        keep_neg: [Y] shares of the negative rows.
        mean_abs: [Y][X] mean |A| over the kept rows; NaN without kept rows.
        kept: [Y][X] kept rows as a share of the rows with an advantage.
        chosen: (keep_pos, keep_neg) of the settings.
    """

    keep_pos: tuple[float, ...]
    keep_neg: tuple[float, ...]
    mean_abs: tuple[tuple[float, ...], ...]
    kept: tuple[tuple[float, ...], ...]
    chosen: tuple[float, float]


@dataclass(frozen=True)
class GroupRow:
    """A row of a group.

    Attributes:
        place: file:line.
        reward: NaN where missing.
        original: NaN where undefined.
        processed: NaN where undefined.
        kept: whether it takes part in training.
        length: tokens; None without lengths.
        text: the response, truncated if very long; None if it was not read.
    """

    place: str
    reward: float
    original: float
    processed: float
    kept: bool
    length: float | None
    text: str | None


@dataclass(frozen=True)
class Group:
    """A group with its rows.

    Attributes:
        group: its number.
        step: its step; "" without steps.
        prompt: the text of the columns that identify it, truncated if very long.
        size: its rows, or its rollouts if those are counted.
        mean: mean reward; NaN without a valid reward.
        std: standard deviation of the rewards, ddof 1; NaN with fewer than two.
        solved: share of its valid rewards at the largest of the data set; NaN without one.
        dead: two or more valid rewards, all equal.
        max_abs: the largest |A|; NaN if none is defined.
        max_centred: the largest distance of a reward from the mean of the group; NaN without a valid reward.
        rows: its rows, largest advantage first; an evenly spaced sample if there are too many.
        left: number of rows that are not shown.
    """

    group: int
    step: str
    prompt: str
    size: int
    mean: float
    std: float
    solved: float
    dead: bool
    max_abs: float
    max_centred: float
    rows: tuple[GroupRow, ...]
    left: int = 0


@dataclass(frozen=True)
class Page:
    """Everything on the page.

    Attributes:
        version: version of advcli.
        inputs: the files.
        report: the result of `compute`: settings, and the columns "original" and "processed".
        inspection: the result of `inspect`.
        reward: rewards of the valid rows, under "reward".
        advantage: advantages, under "original" and "processed".
        solve_rate: under "solve rate", the share of a group's rows at the largest reward of the data set; if hardly
            any row has that, the mean reward of the groups under "mean reward".
        groups: mean and spread of the groups.
        lengths: None without a length column.
        keep: None if keep ratios are not defined.
        intervals: figure of a step → its 95% interval at each step of `per_step`; NaN if undetermined.
        browser: the groups to browse, largest distance from the group's mean first.
        match: the result of `match`; None without a logged advantage.
        between: the comparison with another run; None without one.
        prompts: the result of `prompts`; None if no prompt occurs at two steps.
        verify: the result of `verify`; None if rows are not right or wrong.
        remarks: what was sampled, cut or left out.
        command: the command line of the report; "" if it was made from Python.
        made: the date and time of the report, to the minute.
    """

    version: str
    inputs: tuple[InputFile, ...]
    report: Report
    inspection: Inspection
    reward: Histogram
    advantage: Histogram
    solve_rate: Histogram
    groups: GroupPoints
    lengths: LengthPoints | None
    keep: KeepGrid | None
    intervals: Mapping[str, tuple[tuple[float, float], ...]]
    browser: tuple[Group, ...]
    match: Match | None = None
    between: Between | None = None
    prompts: Prompts | None = None
    verify: Verify | None = None
    remarks: tuple[str, ...] = ()
    command: str = ""
    made: str = ""
