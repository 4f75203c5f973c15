"""Which column plays which part: ids before texts, a total before parts, and never a guess."""

import pytest

from advcli.common.errors import DataError, UsageError
from advcli.io.columns.choose import choose
from advcli.io.formats.catalog import LENGTHS, LOGGED, PROMPT_IDS, PROMPT_TEXTS, REWARD_TOTALS, STEPS
from advcli.records.table import ColumnOptions


def kinds(text):
    """`a b:text` → {"a": "number", "b": "text"}."""
    pairs = (word.partition(":") for word in text.split())
    return {name: kind or "number" for name, _, kind in pairs}


def chosen(text, **options):
    return choose(kinds(text), ColumnOptions(**options))


@pytest.mark.parametrize("text", PROMPT_TEXTS)
@pytest.mark.parametrize("name", PROMPT_IDS)
def test_an_id_comes_before_a_text(name, text):
    assert chosen(f"{text}:text reward {name}").prompt == (name,)


@pytest.mark.parametrize("name", PROMPT_IDS + PROMPT_TEXTS)
def test_each_usual_name_of_a_prompt_is_found(name):
    choice = chosen(f"x reward {name}:text")
    assert (choice.format, choice.prompt, choice.step_in_key) == ("generic", (name,), True)


@pytest.mark.parametrize("name", REWARD_TOTALS)
def test_a_total_comes_before_parts(name):
    choice = chosen(f"prompt_id acc_reward reward_fmt {name}")
    assert (choice.rewards, choice.skip_missing_parts) == (((name, 1.0),), False)


def test_the_names_of_the_contract_are_there():
    assert PROMPT_IDS == ("prompt_id", "uid", "group_id", "example_id", "problem_id")
    assert PROMPT_TEXTS == ("prompt", "input")
    assert REWARD_TOTALS == ("reward", "score", "total_reward", "scalar_reward")


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_found(name):
    assert chosen(f"prompt_id reward {name}").step == name


@pytest.mark.parametrize("name", LENGTHS)
def test_a_length_is_found_if_it_is_a_number(name):
    assert chosen(f"prompt_id reward {name}").length == name
    assert chosen(f"prompt_id reward {name}:text").length is None


@pytest.mark.parametrize("name", LOGGED)
def test_a_logged_advantage_is_a_number_or_a_list_with_one_per_token(name):
    assert chosen(f"prompt_id reward {name}").logged == name
    assert chosen(f"prompt_id reward {name}:nested").logged == name
    assert chosen(f"prompt_id reward {name}:text").logged is None


def test_nothing_is_found_where_nothing_is():
    choice = chosen("prompt_id reward other:text")
    assert (choice.step, choice.length, choice.logged) == (None, None, None)


@pytest.mark.parametrize(
    "name", ["reward_x", "reward/x", "rewards/x", "reward.x", "rewards.x", "x_reward", "x_score"]
)
def test_one_part_alone_is_the_reward(name):
    assert chosen(f"prompt_id {name} other").rewards == ((name, 1.0),)


AMBIGUOUS = {
    # The columns, with message and hint.
    "prompt_id uid reward": (
        "2 columns can be the prompt id: prompt_id, uid",
        "--prompt-col prompt_id or --prompt-col",
    ),
    "prompt input reward": (
        "2 columns can be the prompt id: prompt, input",
        "--prompt-col prompt or --prompt-col in",
    ),
    "uid problem_id group_id reward": (
        "3 columns can be the prompt id: uid, group_id, problem_id",
        "--prompt-col uid",
    ),
    "prompt_id reward score": (
        "2 columns can be the reward: reward, score",
        "--reward reward or --reward score",
    ),
    "prompt_id acc_reward fmt_reward": (
        "several parts: acc_reward, fmt_reward",
        "--reward acc_reward --reward fmt",
    ),
    "prompt_id other x:text": (
        "no reward among the columns prompt_id, other, x; expected one of reward",
        "--reward COL",
    ),
    "prompt_id acc_reward:text": ("no reward among the columns", "--reward COL"),
    "reward other": (
        "no prompt id among the columns reward, other; expected one of prompt_id",
        "--prompt-col COL",
    ),
}


@pytest.mark.parametrize("columns", AMBIGUOUS)
def test_no_choice_is_an_error_that_names_the_columns_and_the_flag(columns):
    message, hint = AMBIGUOUS[columns]
    with pytest.raises(DataError) as error:
        chosen(columns)
    assert message in error.value.message
    assert hint in error.value.hint


def test_a_long_list_of_columns_is_cut():
    with pytest.raises(DataError, match=r"columns c0, .*c11 and 8 more;"):
        chosen(" ".join(f"c{i}" for i in range(20)))


def test_two_ids_beside_a_flag_are_no_question():
    assert chosen("prompt_id uid reward", prompt="uid").prompt == ("uid",)
    choice = chosen("prompt_id uid reward score", prompt="uid", rewards=(("score", 0.5), ("reward", 2.0)))
    assert choice.rewards == (("score", 0.5), ("reward", 2.0))


def test_group_by_is_the_whole_key():
    choice = chosen("prompt_id step reward task:text", group_by=("task", "prompt_id"))
    assert (choice.prompt, choice.step, choice.step_in_key) == (("task", "prompt_id"), "step", False)


def test_what_the_user_names_wins():
    choice = chosen(
        "prompt_id step reward length a b c d", prompt="a", step="b", length="c", rewards=(("d", 1.0),)
    )
    assert (choice.prompt, choice.step, choice.length, choice.rewards) == (("a",), "b", "c", (("d", 1.0),))


def test_rows_may_be_cut_by_n_without_a_prompt():
    assert chosen("reward", n=8).prompt == ()
    assert chosen("reward uid", n=8).prompt == ("uid",)


@pytest.mark.parametrize(
    "options",
    [
        {"prompt": "promt"},
        {"group_by": ("prompt_id", "promt")},
        {"step": "promt"},
        {"length": "promt"},
        {"rewards": (("promt", 1.0),)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_name_that_is_not_there_is_a_usage_error_with_the_nearest(options):
    with pytest.raises(
        UsageError, match=r"no column 'promt'; the columns are prompt, prompt_id, reward; try prompt"
    ):
        chosen("prompt:text prompt_id reward", **options)


def test_a_column_that_is_the_reward_is_nothing_else():
    choice = chosen("prompt_id length advantage", rewards=(("length", 1.0), ("advantage", 1.0)))
    assert (choice.length, choice.logged) == (None, None)


TRL = "step prompt:text completion:text accuracy_reward format_reward extracted:text advantage"


def test_trl_sums_every_numeric_column_of_its_own():
    choice = chosen(TRL)
    assert choice.format == "trl"
    assert choice.rewards == (("accuracy_reward", 1.0), ("format_reward", 1.0))
    assert (choice.skip_missing_parts, choice.logged, choice.length) == (True, "advantage", None)


def test_trl_parts_are_weighted_in_file_order():
    assert chosen(TRL, weights=(2.0, 0.5)).rewards == (("accuracy_reward", 2.0), ("format_reward", 0.5))
    with pytest.raises(
        UsageError, match=r"3 reward weights for 2 reward columns: accuracy_reward, format_reward"
    ):
        chosen(TRL, weights=(1.0, 2.0, 3.0))


def test_trl_without_a_reward_is_an_error():
    with pytest.raises(DataError, match=r"no reward among the columns step, prompt, completion, advantage"):
        chosen("step prompt:text completion:text advantage")


def test_a_reward_function_may_be_called_length():
    choice = chosen("step prompt:text completion:text length advantage")
    assert (choice.rewards, choice.length) == ((("length", 1.0),), None)
    named = chosen("step prompt:text completion:text length acc advantage", rewards=(("acc", 1.0),))
    assert named.length is None


def test_a_format_can_be_named_and_must_fit():
    verl = "input:text output:text score step uid:text"
    assert (chosen(verl).format, chosen(verl).prompt) == ("verl-v1", ("uid.prompt",))
    assert chosen(verl, format="generic").prompt == ("uid",)
    assert chosen(verl, format="verl").rewards == (("score", 1.0),)
    assert chosen(TRL + " reward", format="generic").rewards == (("reward", 1.0),)
    with pytest.raises(
        DataError, match=r"format verl needs the column 'output'; the columns are input, score, step"
    ):
        chosen("input score step", format="verl")
    with pytest.raises(UsageError, match=r"unknown format 'tlr'; try trl"):
        chosen(TRL, format="tlr")


def test_columns_are_read_once_each():
    choice = chosen(
        "prompt_id step reward", prompt="step", step="step", length="reward", rewards=(("reward", 1.0),) * 2
    )
    assert choice.columns() == ("step", "reward")


@pytest.mark.parametrize(
    ("more", "prompt"),
    [
        ("_ng_task_index", ("_ng_task_index",)),
        ("_ng_task_index agent_ref.name:text", ("agent_ref.name", "_ng_task_index")),
        # Without the task's number the input of the request is the key; the agent alone never is.
        (
            "responses_create_params.input:nested agent_ref.name:text",
            ("agent_ref.name", "responses_create_params.input"),
        ),
    ],
)
def test_a_key_of_several_columns_needs_all_that_may_not_be_missing(more, prompt):
    choice = chosen(f"responses_create_params:nested reward {more}")
    assert (choice.format, choice.prompt) == ("nemo-gym", prompt)
