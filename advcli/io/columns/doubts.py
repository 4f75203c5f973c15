"""What speaks against the columns that were chosen, by what some rows hold."""

import shlex
from collections.abc import Collection, Iterator

from advcli.io.columns import names, prompts, row_flags
from advcli.io.columns.dump import Doubt, Dump, quoted
from advcli.io.columns.prompts import Prompt
from advcli.io.columns.rewards import Rewards
from advcli.io.formats.catalog import ROLLOUTS
from advcli.tensors.expressions import parse

# A column with more texts than that names no splits.
_SPLITS = 8


def of_choice(
    dump: Dump, prompt: Prompt, step: str | None, rewards: Rewards, used: Collection[str | None]
) -> list[Doubt]:
    """What speaks against a choice of columns.

    Args:
        dump: what is known of the inputs.
        prompt: the columns of the prompt.
        step: the column of the step.
        rewards: the columns of the reward.
        used: the columns that play a part.
    """
    group = _group(dump, prompt, step)
    return [
        *(_splits(dump, used) or _spread(dump, group, used)),
        *_lists(dump, (*prompt, *prompts.step_key(step)), rewards),
        *_turns(dump, prompt, step),
        *_by_position(dump, prompt, step),
    ]


def _group(dump: Dump, prompt: Prompt, step: str | None) -> Prompt:
    """The columns of a group; none where places in files are among them, or the user named them."""
    if not prompt or dump.options.group_by or any(name.startswith("@") for name in prompt):
        return ()
    return (*prompt, *([step] if step and dump.form.step_in_key else []))


def _splits(dump: Dump, used: Collection[str | None]) -> list[Doubt]:
    """Rows of training beside those of an evaluation, where a column of texts says which is which."""
    asked = {*dump.options.group_by, *_conditions(dump), dump.options.by}
    for name, kind in dump.kinds.items():
        if kind != "text" or name in used or name in asked or name.startswith("@"):
            continue
        values = {cell for cell in dump.evidence.of(name).present if isinstance(cell, str)}
        if len(values) > _SPLITS:
            continue
        training = sorted(filter(row_flags.says_training, values))
        rest = sorted(values - {*training})
        if training and rest and all(map(row_flags.says_evaluation, rest)):
            message = (
                f"rows of training and of evaluation ('{name}': {quoted([*training, *rest])}) are read alike"
            )
            listed = ", ".join(f'"{value}"' for value in training)
            condition = f"`{name}` in ({listed})" if len(training) > 1 else f"`{name}` == {listed}"
            return [Doubt(message, f"--where {shlex.quote(condition)}")]
    return []


def _conditions(dump: Dump) -> Iterator[str]:
    """The columns that `--where` looks at."""
    for text in dump.options.where:
        yield from parse(text).columns


def _spread(dump: Dump, group: Prompt, used: Collection[str | None]) -> list[Doubt]:
    """Groups that all have as many rows of each value of some column, as when several runs were put together."""
    for name, kind in dump.kinds.items() if group and not group[-1].startswith("@") else ():
        column = dump.evidence.of(name)
        if kind not in ("number", "text") or name in used or name.startswith("@"):
            continue
        if names.says_reward(name) or (column.numbers and not column.is_whole):
            continue
        count = dump.evidence.spreads_evenly(name, group)
        if count and (names.is_source(name) or names.is_step(name) or dump.evidence.in_blocks(name)):
            return [
                Doubt(
                    f"every group has equally many rows of each of {count} values of '{name}', as when several steps, "
                    "runs or models are put together",
                    f"--group-by {shlex.quote(','.join((*group, name)))}",
                )
            ]
    return []


def _lists(dump: Dump, key: Prompt, rewards: Rewards) -> list[Doubt]:
    """Several records of a prompt with a list of rewards each: these may be those of turns or tokens."""
    options = dump.options
    if dump.form.name != "lists" or options.explode or options.layout:
        return []
    placed = any(name.startswith("@") for name in key)
    if not key or placed or not dump.evidence.in_records(key):
        return []
    name = shlex.quote(rewards[0][0])
    return [
        Doubt(
            f"several records of a prompt have a list of rewards each, and each number in '{rewards[0][0]}' is taken as "
            "an answer of its own, not as a turn or token",
            f"--explode {name}, or --turn-rewards-col {name} with --reward COL for the whole",
        )
    ]


def _turns(dump: Dump, prompt: Prompt, step: str | None) -> list[Doubt]:
    """A step that numbers the rows of each rollout, as the turns of an episode are numbered."""
    if dump.options.step or dump.form.name != "generic" or not step or step.startswith("@"):
        return []
    for name in ROLLOUTS:
        if name not in dump.kinds or name == step or not _is_of_one_prompt(dump, name, prompt):
            continue
        if dump.evidence.numbers_rows(step, name):
            return [
                Doubt(
                    f"'{step}' is taken as the training step, and numbers the rows of each '{name}' like a turn",
                    f"--rollout-col {shlex.quote(name)} --turn-col {shlex.quote(step)} or --step-col {shlex.quote(step)}",
                )
            ]
    return []


def _is_of_one_prompt(dump: Dump, rollout: str, prompt: Prompt) -> bool:
    """Whether each value of a column has rows of one prompt: with a single prompt, rows that follow each other."""
    evidence = dump.evidence
    prompts_of = evidence.keys(prompt)
    if len(set(prompts_of)) < 2:
        return evidence.in_blocks(rollout)
    return len(set(evidence.keys((rollout, *prompt)))) == len(set(evidence.of(rollout).keys))


def _by_position(dump: Dump, prompt: Prompt, step: str | None) -> list[Doubt]:
    """Rows that are cut into groups by their place, although a column could tell the prompts."""
    n = dump.options.n
    if prompt or not n:
        return []
    for name in prompts.likely(dump, step):
        size = dump.evidence.usual_size(name)
        # A prompt that was drawn twice has two groups.
        if size % n:
            return [
                Doubt(
                    f"groups are {n} consecutive rows, and most values of '{name}' have {size}",
                    f"--prompt-col {shlex.quote(name)}",
                )
            ]
    return []
