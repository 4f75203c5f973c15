"""What travels between the layers: frozen records, no logic that imports anything heavy."""

from advcli.records.match import Break, Breaks, Fit, Match
from advcli.records.report import Column, Figures, Health, Report
from advcli.records.settings import DEFAULT_ESTIMATOR, AdvantageTable, Settings
from advcli.records.table import (
    CAUSES,
    STANDARD_OUTPUT,
    Choice,
    ColumnOptions,
    Grouping,
    RewardTable,
    Rows,
    Source,
)

__all__ = [
    "CAUSES",
    "DEFAULT_ESTIMATOR",
    "STANDARD_OUTPUT",
    "AdvantageTable",
    "Break",
    "Breaks",
    "Choice",
    "Column",
    "ColumnOptions",
    "Figures",
    "Fit",
    "Grouping",
    "Health",
    "Match",
    "Report",
    "RewardTable",
    "Rows",
    "Settings",
    "Source",
]
