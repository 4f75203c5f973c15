"""Whether an estimator needs groups, known before anything heavy is imported."""

from typing import TYPE_CHECKING

from advcli.errors import UsageError
from advcli.estimators.catalog import ESTIMATORS
from advcli.frameworks.catalog import find
from advcli.records.settings import DEFAULT_ESTIMATOR

if TYPE_CHECKING:
    from advcli.records.settings import Settings


def compares_groups(settings: "Settings") -> bool:
    """Whether an estimator compares the rows of a group, so that it needs groups.

    An estimator that does not exist does: what is wrong with it is said elsewhere.
    """
    try:
        if settings.like is None:
            return not ESTIMATORS[settings.estimator or DEFAULT_ESTIMATOR].alone
        rule = find(settings.like, settings.estimator)
    except UsageError:
        return True
    return "group" in rule.needs and not rule.takes_any_row
