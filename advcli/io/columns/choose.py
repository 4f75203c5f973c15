"""Chooses the column for each role, by its name and by the values in the first rows."""

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches

from advcli.common.errors import DataError, UsageError
from advcli.io.columns import doubts, names, prompts, row_flags
from advcli.io.columns.dump import Dump, Kinds, flags, listed, quoted
from advcli.io.columns.evidence import Evidence
from advcli.io.columns.rewards import nested_name, outcomes, summed, unused_rewards
from advcli.io.columns.rewards import rewards as rewards_of
from advcli.io.formats import detect
from advcli.io.formats.catalog import (
    ANCHORS,
    CHATS,
    FILLERS,
    FORMATS,
    IMAGES,
    LENGTHS,
    LOG_PROBS,
    LOGGED,
    MASKS,
    PROMPT_TEXTS,
    RESPONSES,
    ROLLOUT_LOG_PROBS,
    ROLLOUTS,
    STEPS,
    TOKEN_MASKS,
    TURN_LISTS,
    TURNS,
    VERSIONS,
)
from advcli.io.formats.derived import CHARACTERS
from advcli.io.formats.format import Format
from advcli.records.layout import PLAIN, Condition, Derived, Layout, Rules
from advcli.records.table import Choice, ColumnOptions
from advcli.tensors.expressions import parse

# At most so many columns that name a row's run or model are read in addition.
_SOURCES = 3


def choose(
    kinds: Kinds,
    options: ColumnOptions,
    form: Format | None = None,
    layout: Layout = PLAIN,
    evidence: Evidence | None = None,
) -> Choice:
    """Decide which columns to read.

    Args:
        kinds: the columns of the dump, in file order, and those paths named by the format that are present.
        options: what the user asked for; takes precedence.
        form: the format; None to detect it from the columns.
        layout: how rows are nested in a record.
        evidence: a sample of the rows.

    Returns:
        The choice.

    Raises:
        DataError: no column fits, two columns of the same rank do, or a choice is doubtful and `options.strict` is set.
        UsageError: a column that the user named doesn't exist.
    """
    for name in asked(options):
        if name not in kinds and name not in prompts.chats(kinds):
            raise _no_column(name, kinds, options, layout, evidence or Evidence())
    if form is None:
        form = _form(kinds, options)
        derivable = [column for column in form.derived if all(name in kinds for name in column.needed())]
        kinds = {**kinds, **{column.name: column.kind for column in derivable}}
    if inner := summed(options):
        form, kinds = replace(form, derived=(*form.derived, inner)), {**kinds, inner.name: "number"}
    for need in form.requires if options.format else ():
        name = need.partition(":")[0]
        if name not in kinds and "." not in name and layout.name != "nested":
            raise DataError(f"format {form.name} needs the column '{name}'; the columns are {listed(kinds)}")
    for name in options.tokens.values():
        if kinds[name] not in ("nested", "number"):
            raise UsageError(f"column '{name}' holds {kinds[name]}, expected a list of numbers per row")
    return _Chooser(Dump(kinds, options, form, layout, evidence or Evidence())).choice()


def asked(options: ColumnOptions) -> Iterator[str]:
    """The columns that the user names."""
    single = (
        options.prompt,
        options.step,
        options.length,
        options.by,
        options.logged,
        options.row,
        options.rollout,
        options.turn,
        options.turn_rewards,
        *(name for _, name in options.roles),
    )
    yield from (name for name in single if name)
    yield from (*options.group_by, *options.outcomes, *options.tokens.values())
    yield from (name for name, _ in options.rewards)
    computed = (*options.tests, *options.measures)
    yield from (name for name in options.extra if name not in computed)
    for text in (*options.where, *computed):
        yield from parse(text).columns


class _Chooser:
    """Chooses the columns of one dump, role by role."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump

    def choice(self) -> Choice:
        """The whole choice."""
        kinds, options, form = self._dump.kinds, self._dump.options, self._dump.form
        rewards = rewards_of(self._dump)
        reward_columns = {name for name, _ in rewards}
        length = options.length or self._length(reward_columns)
        counted = (
            None
            if length or not options.characters
            else self._characters({*reward_columns, options.prompt or ""})
        )
        step = options.step or self._step()
        prompt, chat = prompts.prompt(self._dump, step)
        rollout, turn = self._rollout({*reward_columns, *prompt, step}, grouped=bool(prompt or options.n))
        logged = (
            options.logged
            or _first(form.logged, kinds, excluded=reward_columns, kind="number")
            or _logged(kinds, reward_columns)
        )
        roles = self._roles(rollout, {*reward_columns, *prompt, step, length, logged, *rollout, turn})
        used = {*reward_columns, step, length, logged, *prompt, *rollout, turn, *(name for _, name in roles)}
        rules = self._rules(
            prompt, used, prompts.likely(self._dump, step) if prompt == prompts.RECORD else ()
        )
        left_out = {name for condition in rules.conditions for name in condition.columns} | {rules.evaluation}
        self._dump.doubts.extend(doubts.of_choice(self._dump, prompt, step, rewards, used | left_out))
        log_probs = _log_probs(kinds, options)
        if options.strict and self._dump.doubts:
            raise DataError(self._dump.doubts[0].message, hint=self._dump.doubts[0].hint)
        return Choice(
            format=form.name,
            prompt=prompt,
            step=step,
            rewards=rewards,
            skip_missing_parts=form.parts is not None,
            length=length or (counted.name if counted else None),
            extra=options.extra,
            tokens=(*_tokens(kinds, options), *log_probs.items()),
            logged=logged,
            mask=_first(MASKS, kinds, kind="nested") if kinds.get(logged or "") == "nested" else None,
            step_in_key=form.step_in_key and not options.group_by,
            layout=self._dump.layout,
            derived=(*form.derived, *(column for column in (counted, chat) if column)),
            rules=rules,
            dedup=options.dedup,
            row=options.row,
            named=options.named,
            others=_unused(kinds, used),
            rollout=rollout,
            turn=turn,
            sure=bool(options.rollout or form.rollout),
            turn_list=self._turn_list(rollout, turn, reward_columns),
            roles=roles,
            by=options.by,
            outcomes=outcomes(self._dump, [*reward_columns, *(name for name in (length, step) if name)]),
            tests=(
                *(_condition(text, "") for text in options.tests),
                *(_condition(text, "", number=True) for text in options.measures),
            ),
            likely=()
            if prompt and self._dump.evidence.share_rows(prompt)
            else tuple(prompts.proposed(self._dump, step)),
            unread=tuple(unused_rewards(self._dump, [*filter(None, used), *rules.columns()])),
            doubts=tuple(map(str, self._dump.doubts)),
            found=tuple(log_probs),
            aside=tuple(log_probs) if options.log_probs == "figures" else (),
        )

    # Which rows count.

    def _rules(self, prompt: Sequence[str], used: set[str | None], likely: Sequence[str]) -> Rules:
        """The rules of the format and the user about rows, as far as their columns are present.

        Args:
            prompt: the columns of the prompt.
            used: the columns that have a role.
            likely: columns in which the rows of an assumed prompt should agree.
        """
        form, kinds = self._dump.form, self._dump.kinds
        by_text = bool(prompt) and set(prompt) <= {*PROMPT_TEXTS, "messages", "input_prompt"}
        pictures = tuple(name for name in IMAGES if name in kinds and by_text)
        name = form.filler if form.filler in kinds else _first(FILLERS, kinds)
        filler = [f"`{name}` != true"] if name else []
        known = [text for text in form.counts if all(name in kinds for name in parse(text).columns)]
        # Flags that the format's reward or prompt is computed from are already taken into account.
        made_of = {name for column in form.derived if column.name in used for name in column.columns()}
        flags = [
            text
            for name, kind in kinds.items()
            if kind == "number"
            and name not in {*used, *made_of}
            and (text := row_flags.condition_of_flag(name))
            if self._dump.evidence.of(name).is_flag
        ]
        rules = dict.fromkeys(
            [*known, *(text for text in flags if parse(text).columns not in _columns([*filler, *known]))]
        )
        return Rules(
            conditions=(
                *(_condition(text, f"no rollout ('{name}'): left out") for text in filler),
                *(_condition(text, f"left out by the rule '{text.replace('`', '')}'") for text in rules),
                *(
                    _condition(text, f"left out by --where '{text}'", asked=True)
                    for text in self._dump.options.where
                ),
            ),
            evaluation=form.evaluation if form.evaluation in kinds else self._evaluation(used),
            same=(*(name for name in form.same if name in kinds), *pictures, *likely),
            apart=tuple(self._sources(prompt, used)) if prompt else (),
            checks=form.checks,
            appended=form.appended,
            alone=form.alone,
        )

    def _evaluation(self, used: set[str | None]) -> str | None:
        """The flag of rows of an evaluation, which only its name makes one."""
        flags = (
            name
            for name, kind in self._dump.kinds.items()
            if kind == "number" and name not in used and row_flags.is_evaluation(name)
            if self._dump.evidence.of(name).is_flag
        )
        return next(flags, None)

    def _sources(self, prompt: Sequence[str], used: set[str | None]) -> list[str]:
        """The columns that name a row's run, model or epoch, except those that number the rows of a prompt."""
        evidence = self._dump.evidence
        own = [name for name in prompt if not name.startswith("@")]
        # If the prompt has several rows, a column that splits them into single rows is an index.
        shares = evidence.share_rows(own)
        result = [
            name
            for name, kind in self._dump.kinds.items()
            if kind in ("number", "text") and name not in used and names.is_source(name)
            if not name.startswith("@")
            and not names.is_step(name)
            and not evidence.of(name).is_unique
            and not (evidence.of(name).numbers and not evidence.of(name).is_whole)
            and not (shares and not evidence.share_rows((*own, name)))
        ]
        # The writer of a record grouped its rows deliberately.
        return [] if self._dump.options.group_by or not own else result[:_SOURCES]

    # The columns.

    def _rollout(self, taken: set[str | None], *, grouped: bool) -> tuple[tuple[str, ...], str | None]:
        """The columns that identify the rollout, and the one that numbers its rows."""
        form, kinds, options = self._dump.form, self._dump.kinds, self._dump.options
        if options.rollout:
            rollout: tuple[str, ...] = (options.rollout,)
        elif form.rollout:
            rollout = next(filter(None, (prompts.key_columns(key, kinds) for key in form.rollout)), ())
        else:
            candidates = (
                name for name in ROLLOUTS if kinds.get(name) in ("number", "text") and name not in taken
            )
            rollout = tuple(candidates)[:1] if form.name == "generic" and grouped else ()
        turn = _first(form.turn or TURNS, kinds, kind="number") if rollout else None
        return rollout, options.turn or (None if turn in taken else turn)

    def _turn_list(self, rollout: tuple[str, ...], turn: str | None, taken: set[str]) -> str | None:
        """The column with a list of turn rewards, if a row is a rollout."""
        if self._dump.options.turn_rewards or (rollout and turn):
            return self._dump.options.turn_rewards
        return _first(TURN_LISTS, self._dump.kinds, excluded=taken, kind="nested")

    def _roles(self, rollout: tuple[str, ...], used: set[str | None]) -> tuple[tuple[str, str], ...]:
        """The roles that the user named, and those found by usual names that only some analyses need."""
        kinds, options = self._dump.kinds, self._dump.options
        result = {role: name for role, name in options.roles if (role, kinds[name]) != ("kl", "nested")}
        if rollout and (state := _first(ANCHORS, kinds)):
            result.setdefault("anchor", state)
        if options.log_probs and (version := _first(VERSIONS, kinds, excluded=used, kind="number")):
            result.setdefault("version", version)
        return tuple(result.items())

    def _step(self) -> str | None:
        """The training step: by a usual name, by the words in a name, or from the path."""
        kinds, form = self._dump.kinds, self._dump.form
        other = {self._dump.options.turn, self._dump.options.rollout}
        present = {
            name: kind
            for name, kind in kinds.items()
            if not (self._dump.evidence.of(name).is_empty or name in other)
        }
        known = _first(form.step, present) or _first(STEPS, present)
        if known:
            return known
        candidates = [
            name
            for name, kind in present.items()
            if kind in ("number", "text") and not name.startswith("@") and names.is_step(name)
            if self._dump.evidence.of(name).is_whole
            or kind == "text"
            or not self._dump.evidence.of(name).cells
        ]
        if len(candidates) > 1:
            self._dump.doubt(
                f"the step is '{candidates[0]}', and could be {quoted(candidates[1:])}",
                flags("--step-col", candidates),
            )
        elif candidates and candidates[0] in TURNS:
            self._dump.doubt(
                f"'{candidates[0]}' is taken as the training step, and could be the turn of a rollout",
                f"--step-col {candidates[0]} or --rollout-col COL --turn-col {candidates[0]}",
            )
        return candidates[0] if candidates else _first(("@step",), kinds)

    def _length(self, taken: set[str]) -> str | None:
        known = _first(self._dump.form.lengths, self._dump.kinds, kind="number")
        if known or not self._dump.form.length:
            return known
        fits = {
            name: kind for name, kind in self._dump.kinds.items() if self._dump.evidence.of(name).is_length
        }
        return _first(LENGTHS, fits, excluded=taken, kind="number")

    def _characters(self, taken: set[str]) -> Derived | None:
        """The number of characters of the response; None if no column is named like a response."""
        kinds = {name: kind for name, kind in self._dump.kinds.items() if kind in ("text", "nested")}
        name = _first(RESPONSES, kinds, excluded=taken) or _first(CHATS, kinds, excluded=taken)
        return Derived(CHARACTERS + name, (name,), "advcli.io.formats.derived:characters") if name else None


def _condition(text: str, message: str, *, asked: bool = False, number: bool = False) -> Condition:
    return Condition(text, parse(text).columns, message, asked or not message, number)


def _columns(texts: Sequence[str]) -> list[tuple[str, ...]]:
    return [parse(text).columns for text in texts]


def _unused(kinds: Kinds, used: set[str | None]) -> tuple[str, ...]:
    """Columns of numbers or lists that have no role."""
    return tuple(name for name, kind in kinds.items() if kind in ("number", "nested") and name not in used)


def _form(kinds: Kinds, options: ColumnOptions) -> Format:
    if options.format:
        return FORMATS[options.format]
    return detect.recognised(kinds) or FORMATS["generic"]


def _tokens(kinds: Kinds, options: ColumnOptions) -> tuple[tuple[str, str], ...]:
    """The columns with a list per row, including the KL if it is per token."""
    lists = dict(options.tokens)
    kl = dict(options.roles).get("kl")
    if kl and kinds[kl] == "nested":
        lists["token_kl"] = kl
    return tuple(lists.items())


def _log_probs(kinds: Kinds, options: ColumnOptions) -> dict[str, str]:
    """The two log-probabilities and the mask, as far as the user did not name them, if requested and both are present."""
    pair = {"rollout_log_probs": ROLLOUT_LOG_PROBS, "log_probs": LOG_PROBS}
    if not options.log_probs or set(options.tokens) - {*pair, "mask"}:
        return {}
    result = {role: _first(names, kinds, kind="nested") for role, names in pair.items()}
    if not all(options.tokens.get(role) or result[role] for role in pair):
        return {}
    # Not called "mask", which is the mask of per-token estimators.
    result["trained"] = None if "mask" in options.tokens else _first(TOKEN_MASKS, kinds, kind="nested")
    return {role: name for role, name in result.items() if name and role not in options.tokens}


def _first(
    names: Sequence[str], kinds: Kinds, *, excluded: Collection[str | None] = (), kind: str = ""
) -> str | None:
    """The first of the names that is present, has the right kind and is not used otherwise."""
    candidates = (n for n in names if n in kinds and n not in excluded and kind in ("", kinds[n]))
    return next(candidates, None)


def _logged(kinds: Kinds, taken: set[str]) -> str | None:
    """The logged advantage: a number per row, or else a list with a number per token."""
    return _first(LOGGED, kinds, excluded=taken, kind="number") or _first(LOGGED, kinds, kind="nested")


def _no_column(
    name: str, kinds: Kinds, options: ColumnOptions, layout: Layout, evidence: Evidence
) -> UsageError:
    dump = Dump(kinds, options, FORMATS["generic"], layout, evidence)
    inner = nested_name(dump, name) if any(name == reward for reward, _ in options.rewards) else None
    near = f"--explode {shlex.quote(inner)} --reward {shlex.quote(name)}" if inner else None
    return UsageError(
        f"no column '{name}'; the columns are {listed(kinds)}",
        hint=near or " or ".join(get_close_matches(name, kinds, n=3)) or None,
    )
