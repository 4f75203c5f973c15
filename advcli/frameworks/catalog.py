"""The catalog of frameworks' rules: one row per framework, estimator and version range.

A row fixes everything that affects a digit: function, dtype, ddof, eps and where it is added, the rules for
groups of one and for missing rewards, and the default scale. A framework that changed has several rows;
`--like NAME` means the newest. Imports nothing heavy.
"""

from collections.abc import Iterator
from difflib import get_close_matches

from packaging.version import Version

from advcli.common.errors import UsageError
from advcli.common.loss_side import refusal
from advcli.common.registry import Registry, covers
from advcli.common.wording import either
from advcli.frameworks.absent import ABSENT
from advcli.frameworks.proven import PROVEN, range_of
from advcli.frameworks.rule import Rule
from advcli.frameworks.rules import (
    agent_lightning,
    areal,
    areno,
    art,
    atropos,
    drmas,
    easyr1,
    hgpo,
    krpo,
    labs_molt,
    marti,
    miles,
    ms_swift,
    multi_turn_rl_agent,
    nemo_rl,
    oat,
    open_instruct,
    openrlhf,
    pipelinerl,
    prime_rl,
    ragen,
    rlinf,
    rllm,
    roll,
    siirl,
    skyrl,
    slime,
    tinker_cookbook,
    trinity_rft,
    trl,
    tunix,
    twinkle,
    verifiers,
    verl,
    verl_agent,
    verl_recipe,
    xtuner,
)

# The order of `advcli estimators --like` and of the tables.
_MODULES = (
    verl,
    easyr1,
    trl,
    ms_swift,
    openrlhf,
    twinkle,
    nemo_rl,
    skyrl,
    slime,
    areal,
    roll,
    prime_rl,
    rllm,
    tinker_cookbook,
    open_instruct,
    art,
    oat,
    verl_agent,
    agent_lightning,
    ragen,
    miles,
    labs_molt,
    trinity_rft,
    xtuner,
    pipelinerl,
    rlinf,
    siirl,
    tunix,
    marti,
    areno,
    verl_recipe,
    krpo,
    drmas,
    hgpo,
    verifiers,
    atropos,
    multi_turn_rl_agent,
)

RULES: Registry[Rule] = Registry("framework rule", [row for module in _MODULES for row in module.ROWS])


def frameworks() -> tuple[str, ...]:
    """The frameworks, in table order.

    Example:
        >>> frameworks()[:3]
        ('verl', 'easyr1', 'trl')
    """
    return tuple(dict.fromkeys(rule.framework for rule in RULES))


def rules_of(framework: str) -> tuple[Rule, ...]:
    """The rows of a framework, newest version first.

    Raises:
        UsageError: no such framework; the hint lists the closest names.
    """
    result = tuple(rule for rule in RULES if rule.framework == framework.lower())
    if not result:
        near = get_close_matches(framework.lower(), frameworks(), n=3, cutoff=0.4) or frameworks()
        raise UsageError(f"unknown framework '{framework}'", hint=", ".join(near))
    return result


def find(like: str, estimator: str | None = None) -> Rule:
    """The row selected by `--like FRAMEWORK[@VERSION]` and `--estimator`.

    Args:
        like: the framework, optionally with "@" and a version; default is the newest.
        estimator: its name in the framework; None for the framework's first.

    Returns:
        The row.

    Raises:
        UsageError: no such framework, version or estimator.

    Example:
        >>> find("trl@0.22.1").versions
        '>=0.22.0,<0.22.2'
        >>> find("openrlhf").estimator
        'group_norm'
    """
    framework, at, version = like.partition("@")
    rows = rules_of(framework)
    named = [rule for rule in rows if estimator is None or rule.estimator == estimator.lower()]
    if not named:
        raise _unknown(rows, str(estimator))
    if not at:
        return named[0]
    fitting = [rule for rule in named if _covers(rule, version)]
    if not fitting:
        which, known = framework, range_of(framework.lower())
        if estimator:
            which = f"{named[0].estimator} of {framework}"
            known = ", ".join(rule.versions for rule in named)
        raise UsageError(f"no rule for {which} {version}; known: {known}", hint=_hint_for(rows, version))
    return fitting[0]


def doubts(like: str, rule: Rule, *, named: bool) -> Iterator[str]:
    """What is uncertain about a requested version, one sentence each.

    Args:
        like: as requested.
        rule: the row that `find` returns for it.
        named: whether an estimator was requested.

    Example:
        >>> list(doubts("trl@99", find("trl@99"), named=False))
        ['like trl 99: its releases 0.16 to 1.16.0 were compared, not this one; the rule is that of >=1.6']
    """
    framework, at, version = like.partition("@")
    if not at:
        return
    first, last = PROVEN.get(rule.framework, ("", ""))
    if not first or not Version(first) <= Version(version) <= Version(last):
        several = (
            f"its releases {range_of(rule.framework)} were" if first != last else f"its release {first} was"
        )
        known = several if first else "code of 2025 and 2026 was"
        yield (
            f"like {framework} {version}: {known} compared, not this one; "
            f"the rule is that of {rule.versions or 'all versions'}"
        )
    usual = rules_of(framework)[0].estimator
    if not named and rule.estimator != usual:
        yield f"like {framework} {version}: it has no {usual}; this is {rule.estimator}"


def _hint_for(rows: tuple[Rule, ...], version: str) -> str:
    """The hint: the framework's estimators at a version, or the framework without a version if there are none."""
    available = dict.fromkeys(rule.estimator for rule in rows if _covers(rule, version))
    if available:
        return f"--estimator {either(list(available))}"
    return f"--like {rows[0].framework}"


def _unknown(rows: tuple[Rule, ...], estimator: str) -> UsageError:
    """The error for an estimator without a row; the hint lists the framework's estimators."""
    framework = rows[0].framework
    if refused := refusal(estimator, rows[0].estimator):
        return refused
    has = ", ".join(dict.fromkeys(rule.estimator for rule in rows))
    needs = ABSENT.get((framework, estimator.lower()))
    if needs:
        return UsageError(
            f"{estimator} of {framework} cannot be replayed from a dump: it needs {needs}", hint=has
        )
    return UsageError(f"{framework} has no estimator '{estimator}'", hint=has)


def _covers(rule: Rule, version: str) -> bool:
    return covers(rule.versions, version, hint=f"{rule.framework}@1.0")
