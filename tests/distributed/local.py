"""The commands of one machine, under the names that `distributed.commands` has."""

from advcli.pipeline.compare import compare
from advcli.pipeline.compute import compute
from advcli.pipeline.inspect import inspect
from advcli.pipeline.match import match
from advcli.pipeline.prompts import prompts
from advcli.pipeline.sweep import sweep

__all__ = ["compare", "compute", "inspect", "match", "prompts", "sweep"]
