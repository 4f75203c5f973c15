"""What travels between the layers: frozen records, no logic that imports anything heavy."""

from advcli.records.between import Between, Coverage, Paired, PromptPair, RowPairs, Side, StepPair
from advcli.records.layout import NO_RULES, PLAIN, Derived, Layout, Rules
from advcli.records.match import Break, Breaks, Fit, Match
from advcli.records.report import Column, Figures, Health, Report
from advcli.records.settings import DEFAULT_ESTIMATOR, AdvantageTable, FilterSpec, LeftOut, Settings
from advcli.records.sweep import Point, Sweep
from advcli.records.table import (
    CAUSES,
    STANDARD_OUTPUT,
    Choice,
    ColumnOptions,
    Grouping,
    Prompt,
    RewardTable,
    Rows,
    Source,
)

__all__ = [
    "CAUSES",
    "DEFAULT_ESTIMATOR",
    "NO_RULES",
    "PLAIN",
    "STANDARD_OUTPUT",
    "AdvantageTable",
    "Between",
    "Break",
    "Breaks",
    "Choice",
    "Column",
    "ColumnOptions",
    "Coverage",
    "Derived",
    "Figures",
    "FilterSpec",
    "Fit",
    "Grouping",
    "Health",
    "Layout",
    "LeftOut",
    "Match",
    "Paired",
    "Point",
    "Prompt",
    "PromptPair",
    "Report",
    "RewardTable",
    "RowPairs",
    "Rows",
    "Rules",
    "Settings",
    "Side",
    "Source",
    "StepPair",
    "Sweep",
]
