"""Tells whether an estimator needs groups, without any heavy import."""

from typing import TYPE_CHECKING

from advcli.common.errors import UsageError
from advcli.estimators.catalog import ESTIMATORS
from advcli.records.settings import DEFAULT_ESTIMATOR
from advcli.shaping.spec import needs

if TYPE_CHECKING:
    from advcli.records.settings import Settings


def compares_groups(settings: "Settings") -> bool:
    """Whether an estimator compares the rows of a group, so that it needs groups.

    True for an unknown estimator, which another check reports, and if group statistics shape the rewards.
    """
    if any("group" in needs(step) for step in settings.shaping):
        return True
    try:
        if settings.like is None:
            return not ESTIMATORS[settings.estimator or DEFAULT_ESTIMATOR].alone
        from advcli.frameworks.catalog import find

        rule = find(settings.like, settings.estimator)
    except UsageError:
        return True
    return "group" in rule.needs and not rule.takes_any_row
