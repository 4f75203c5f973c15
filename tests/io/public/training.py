"""Dumps that trainers write while a run goes on."""

from public.shape import FOUR, FOUR_IN_WORDS, OF_FOUR, Shape, chat

QUESTIONS = ("Add 17 and 26.", "Name a prime above 7.")


def rows(make):
    """A row for each reward of the two prompts: make(prompt, answer, reward), both numbered from 0."""
    return [make(p, a, reward) for p, own in enumerate(FOUR) for a, reward in enumerate(own)]


def lists(rewards):
    return [list(own) for own in rewards]


SHAPES = (
    Shape(
        "rollouts/5.jsonl",
        rows(
            lambda p, a, r: {
                "input": f"user\n{QUESTIONS[p]}\nassistant\n",
                "output": f"answer {a}",
                "gts": "43",
                "score": r,
                "step": 5,
                "acc": bool(r),
                "pred": str(a),
            }
        ),
        f"verl rollout_data_dir: the reward is score, acc repeats it. {FOUR_IN_WORDS}",
        ("score",),
        ("input", "step"),
        2,
        OF_FOUR,
        step="step",
    ),
    Shape(
        "validation/20.jsonl",
        rows(
            lambda p, a, r: {
                "input": f"user\n{QUESTIONS[p]}\nassistant\n",
                "output": f"answer {a}",
                "gts": "43",
                "score": 2 * r - 1,
                "step": 20,
                "reward": 2 * r - 1,
                "acc": r,
                "pred": str(a),
            }
        ),
        "verl validation_data_dir with a reward function that returns a dictionary: score and reward are the same number, acc is "
        "another. −1 and 1 in place of 0 and 1 double every difference from the mean.",
        ("score",),
        ("input", "step"),
        2,
        [2 * a for a in OF_FOUR],
        step="step",
    ),
    Shape(
        "dapo/8.jsonl",
        [
            {
                "input": "user\nAdd 17 and 26.\nassistant\n",
                "output": "x" * n,
                "gts": "43",
                "score": score,
                "step": 8,
                "acc": acc,
                "pred": "43",
                "overlong_reward": over,
                "overlong": over < 0,
            }
            for n, acc, over, score in (
                (3, True, 0.0, 1.0),
                (9, True, -0.5, 0.5),
                (4, False, 0.0, -1.0),
                (9, False, -0.5, -1.5),
            )
        ],
        "verl with the DAPO reward manager: score has the overlong penalty in it, which stands beside it once more. "
        "1, 0.5, −1, −1.5 have the mean −1/4.",
        ("score",),
        ("input", "step"),
        1,
        [1.25, 0.75, -0.75, -1.25],
        step="step",
    ),
    Shape(
        "completions_00007.parquet",
        rows(
            lambda p, a, r: {
                "step": 7,
                "prompt": QUESTIONS[p],
                "completion": f"<think>{a}</think>",
                "accuracy_reward": r,
                "format_reward": 0.5,
                "advantage": 0.0,
            }
        ),
        f"TRL log_completions: a column per reward function, added up; "
        f"the constant format reward changes no difference. {FOUR_IN_WORDS}",
        ("accuracy_reward", "format_reward"),
        ("prompt", "step"),
        2,
        OF_FOUR,
        step="step",
    ),
    Shape(
        "completions_00012.parquet",
        rows(
            lambda p, a, r: {
                "step": 12,
                "prompt": chat(QUESTIONS[p]),
                "completion": chat(f"answer {a}", "assistant"),
                "correctness": r if a else None,
                "length_penalty": -0.25 if a == 3 else 0.0,
                "advantage": 0.0,
            }
        ),
        "TRL with conversations; a reward function may return None, "
        "which is left out of the sum: the first answers have the sum 0. "
        "0, 0, 0, 3/4: mean 3/16. 0, 1, 1, −1/4: mean 7/16.",
        ("correctness", "length_penalty"),
        ("prompt", "step"),
        2,
        [-3 / 16, -3 / 16, -3 / 16, 9 / 16, -7 / 16, 9 / 16, 9 / 16, -11 / 16],
        step="step",
    ),
    Shape(
        "grpo_log.jsonl",
        rows(
            lambda p, a, r: {
                "global_step": 40 + p,
                "prompt": QUESTIONS[p],
                "ground_truth": "43",
                "completion": f"answer {a}",
                "reward": r + 0.5,
                "accuracy_reward": r,
                "format_reward": 0.5,
                "completion_length": 10 + a,
            }
        ),
        f"A notebook's own log: a total and its parts; the total counts, not the sum of all three. {FOUR_IN_WORDS}",
        ("reward",),
        ("prompt", "global_step"),
        2,
        OF_FOUR,
        step="global_step",
    ),
    Shape(
        "results.jsonl",
        rows(
            lambda p, a, r: {
                "example_id": p,
                "prompt": chat(QUESTIONS[p]),
                "completion": chat(f"answer {a}", "assistant"),
                "task": "default",
                "reward": r,
                "generation_ms": 812.5 + a,
                "scoring_ms": 3.25,
                "total_ms": 815.75 + a,
                "info": {},
                "answer": "43",
                "correct_answer": r,
                "format": 1.0,
                "num_turns": 1.0,
            }
        ),
        f"verifiers vf-eval before 0.4: reward is the weighted total, "
        f"the metrics beside it are its parts; times are no rewards. {FOUR_IN_WORDS}",
        ("reward",),
        ("example_id",),
        2,
        OF_FOUR,
    ),
    Shape(
        "step_3/train_rollouts.jsonl",
        rows(
            lambda p, a, r: {
                "example_id": 100 + p,
                "task": "math",
                "prompt": chat(QUESTIONS[p]),
                "completion": chat(f"answer {a}", "assistant"),
                "reward": r,
                "advantage": 0.0,
                "metrics": {"correct_answer": r},
                "is_truncated": False,
            }
        ),
        f"prime-rl's folder of a step: the step stands in the folder's name only. {FOUR_IN_WORDS}",
        ("reward",),
        ("example_id", "@step"),
        2,
        OF_FOUR,
        step="@step",
    ),
    Shape(
        "completions.jsonl",
        [
            {
                "step": ["3"] * 4,
                "prompt": [QUESTIONS[p]] * 4,
                "completion": [f"answer {a}" for a in range(4)],
                "MathAccuracy": list(own),
                "Format": [0.0] * 4,
                "advantages": [0.0] * 4,
            }
            for p, own in enumerate(FOUR)
        ],
        f"ms-swift log_completions: a line per log event, every value a list. {FOUR_IN_WORDS}",
        ("MathAccuracy", "Format"),
        ("prompt", "step"),
        2,
        OF_FOUR,
        step="step",
    ),
    Shape(
        "rollout_data/7.jsonl",
        rows(
            lambda p, a, r: {
                "group_index": p,
                "index": 4 * p + a,
                "prompt": f"<user>{QUESTIONS[p]}",
                "tokens": [1, 2, 3],
                "response": f"answer {a}",
                "response_length": 2,
                "label": "43",
                "reward": r,
                "loss_mask": None,
                "status": "completed",
                "metadata": {},
            }
        ),
        f"slime samples as lines: group_index numbers the groups and index the rows; "
        f"the prompts tell the same groups. {FOUR_IN_WORDS}",
        ("reward",),
        ("prompt",),
        2,
        OF_FOUR,
    ),
    Shape(
        "media/table/generations_5_0a1b.table.json",
        {
            "columns": ["step", "prompt", "completion", "correct_reward", "advantage"],
            "data": rows(lambda p, a, r: [5, QUESTIONS[p], f"answer {a}", r, 0.0]),
        },
        f"A table that W&B stores: names once, then rows of cells. {FOUR_IN_WORDS}",
        ("correct_reward",),
        ("prompt", "step"),
        2,
        OF_FOUR,
        step="step",
    ),
    Shape(
        "rollouts_rank0.csv",
        "step,prompt_id,response,reward\n"
        + "".join(
            f'1,00{p},"said: {a}, then",{r}\n' for p, own in enumerate(FOUR) for a, r in enumerate(own)
        ),
        f"CSV with commas inside quotes and ids with leading zeros. {FOUR_IN_WORDS}",
        ("reward",),
        ("prompt_id", "step"),
        2,
        OF_FOUR,
        step="step",
    ),
    Shape(
        "train_rollouts.jsonl",
        rows(
            lambda p, a, r: {
                "question": QUESTIONS[p],
                "rollout_idx": a,
                "trajectory": [{"role": "assistant", "content": f"answer {a}"}],
                "total_reward": r,
                "exact_match": r,
                "num_search_calls": a,
                "iteration": 2,
            }
        ),
        f"A search agent's own log: total_reward is the reward, the number of calls is none. {FOUR_IN_WORDS}",
        ("total_reward",),
        ("question", "iteration"),
        2,
        OF_FOUR,
        step="iteration",
        args=(("--prompt-col", "question"),),
    ),
    Shape(
        "rewards.parquet",
        [
            {"prompt": QUESTIONS[p], "responses": [f"answer {a}" for a in range(4)], "rewards": list(own)}
            for p, own in enumerate(FOUR)
        ],
        f"A prompt per row, with a list of responses and a list of rewards. {FOUR_IN_WORDS}",
        ("rewards",),
        ("prompt",),
        2,
        OF_FOUR,
    ),
    Shape(
        "generations.log",
        "[step 1] prompt: Add 17 and 26.\n[step 1] answer: 43 reward 1.0\n",
        "A text log is no dump, whatever stands in it.",
        said=("text log",),
    ),
    Shape(
        "grpo_notebook.jsonl",
        rows(
            lambda p, a, r: {
                "question": QUESTIONS[p],
                "answer": "43",
                "response": f"<answer>{a}</answer>",
                "correctness_reward_func": 2 * r,
                "int_reward_func": 0.5,
                "soft_format_reward_func": 0.25,
            }
        ),
        "Unsloth's notebook: a column per reward function and no total. 2, 0, 0, 2 and so on: the constant parts change nothing, "
        "and twice the reward doubles every difference.",
        ("correctness_reward_func", "int_reward_func", "soft_format_reward_func"),
        ("question",),
        2,
        [2 * a for a in OF_FOUR],
        args=(
            (
                "--reward",
                "correctness_reward_func",
                "--reward",
                "int_reward_func",
                "--reward",
                "soft_format_reward_func",
            ),
            ("--prompt-col", "question"),
        ),
    ),
    Shape(
        "fork/3.jsonl",
        rows(
            lambda p, a, r: {
                "input": f"user\n{QUESTIONS[p]}\nassistant\n",
                "output": f"answer {a}",
                "gts": "43",
                "score": r,
                "step": 3,
                "uid": f"gsm8k_12_{p}",
            }
        ),
        f"A fork of verl whose uid is that of the prompt, and only looks like <uuid>_<session>_<index>. {FOUR_IN_WORDS}",
        ("score",),
        ("uid", "step"),
        2,
        OF_FOUR,
        step="step",
    ),
    Shape(
        "environment.jsonl",
        [
            {
                "prompt_id": f"task {p}",
                "rollout_id": f"{p}-{a}",
                "step": at,
                "action": "go",
                "reward": r if at else 0.0,
            }
            for p, own in enumerate(FOUR)
            for a, r in enumerate(own)
            for at in (0, 1)
        ],
        "Steps of an environment: `step` numbers the rows of a rollout. It is taken as the training step, and that is said. "
        "All first steps have 0; of the second ones " + FOUR_IN_WORDS,
        ("reward",),
        ("prompt_id", "step"),
        4,
        [value for advantage in OF_FOUR for value in (0.0, advantage)],
        step="step",
        said=(
            "numbers the rows of each 'rollout_id' like a turn; try --rollout-col rollout_id --turn-col step",
        ),
    ),
    Shape(
        "token_rewards.jsonl",
        rows(
            lambda p, a, r: {
                "prompt": QUESTIONS[p],
                "response": f"answer {a}",
                "token_level_rewards": [0.0, 0.0, r],
            }
        ),
        f"The rewards of all tokens and no total, which is their sum. {FOUR_IN_WORDS}",
        ("token_level_rewards.sum",),
        ("prompt",),
        2,
        OF_FOUR,
        args=(("--token-rewards-col", "token_level_rewards"),),
    ),
)
