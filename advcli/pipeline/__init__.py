"""The order of the steps, a module per command."""

from advcli.pipeline.between import Bootstrap, between
from advcli.pipeline.compare import compare
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.inspect import inspect
from advcli.pipeline.match import match
from advcli.pipeline.report import report
from advcli.pipeline.request import Request
from advcli.pipeline.sweep import Grid, sweep

__all__ = [
    "Bootstrap",
    "Grid",
    "Output",
    "Request",
    "between",
    "compare",
    "compute",
    "inspect",
    "match",
    "report",
    "sweep",
]
