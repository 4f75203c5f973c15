"""Logs of evaluations and of agents, used as tables of rewards."""

from public.shape import FOUR, FOUR_IN_WORDS, OF_FOUR, Shape, chat

QUESTIONS = ("Add 17 and 26.", "Name a prime above 7.")
TASKS = ("made__sums-12", "made__sums-40")


def rows(make):
    """A row for each reward of the two tasks: make(task, attempt, reward), both numbered from 0."""
    return [make(p, a, reward) for p, own in enumerate(FOUR) for a, reward in enumerate(own)]


NO_REWARD = "no reward among the columns"

SHAPES = (
    Shape(
        "swe_trajectories.jsonl",
        rows(
            lambda p, a, r: {
                "instance_id": TASKS[p],
                "model": "m0",
                "traj_id": f"{TASKS[p]}.{a}",
                "resolved": bool(r),
                "patch": "diff",
                "messages": chat(QUESTIONS[p]),
            }
        ),
        "SWE-smith's trajectories: resolved is the outcome, and true is 1. " + FOUR_IN_WORDS,
        ("resolved",),
        ("instance_id",),
        2,
        OF_FOUR,
        args=(("--reward", "resolved"), ("--prompt-col", "instance_id")),
    ),
    Shape(
        "agent_targets.jsonl",
        rows(
            lambda p, a, r: {
                "instance_id": TASKS[p],
                "model_name": "m0",
                "target": bool(r),
                "trajectory": chat(QUESTIONS[p]),
                "exit_status": "submitted",
                "generated_patch": "diff",
                "eval_logs": "…",
            }
        ),
        "SWE-agent's trajectories: the flag `target` is the outcome, and nothing but the user can say so. "
        + FOUR_IN_WORDS,
        ("target",),
        ("instance_id",),
        2,
        OF_FOUR,
        args=(("--reward", "target"), ("--prompt-col", "instance_id")),
    ),
    Shape(
        "gym_trajectories.jsonl",
        rows(
            lambda p, a, r: {
                "problem_statement": QUESTIONS[p],
                "docker_image": f"made/{TASKS[p]}",
                "exp_name": f"run-{a}",
                "trajectory_steps": [{"step_idx": 0, "thought": "…", "action": "submit"}],
                "exit_reason": "agent",
                "output_patch": "diff",
                "reward": r,
                "num_steps": 3 + a,
            }
        ),
        "R2E-Gym's trajectories: a reward, and the problem as text. " + FOUR_IN_WORDS,
        ("reward",),
        ("problem_statement",),
        2,
        OF_FOUR,
        args=(("--prompt-col", "problem_statement"),),
    ),
    Shape(
        "tau_bench.json",
        [
            {
                "task_id": p,
                "reward": r,
                "info": {"task": {"user_id": "u"}, "reward_info": {"reward": r, "actions": []}},
                "traj": chat(QUESTIONS[p]),
                "trial": a,
            }
            for a in range(4)
            for p, r in enumerate((FOUR[0][a], FOUR[1][a]))
        ],
        "tau-bench results, trial after trial: task 0 and 1 take turns. " + FOUR_IN_WORDS,
        ("reward",),
        ("task_id",),
        2,
        [0.5, 0.25, -0.5, 0.25, -0.5, 0.25, 0.5, -0.75],
        args=(("--prompt-col", "task_id"),),
    ),
    Shape(
        "human_eval_results.jsonl",
        rows(
            lambda p, a, r: {
                "task_id": f"HumanEval/{p}",
                "completion": f"    return {a}\n",
                "result": "passed" if r else "failed: ",
                "passed": bool(r),
            }
        ),
        "HumanEval's samples with their results: passed is the outcome, and true is 1. " + FOUR_IN_WORDS,
        ("passed",),
        ("task_id",),
        2,
        OF_FOUR,
        args=(("--reward", "passed"), ("--prompt-col", "task_id")),
    ),
    Shape(
        "graded_lists.json",
        [
            {
                "question_title": f"q{p}",
                "question_content": QUESTIONS[p],
                "question_id": f"abc{p}",
                "difficulty": "easy",
                "output_list": [f"answer {a}" for a in range(4)],
                "code_list": ["pass"] * 4,
                "graded_list": [bool(r) for r in own],
                "pass@1": sum(own) / 4,
            }
            for p, own in enumerate(FOUR)
        ],
        "LiveCodeBench's evaluation: lists of outputs and of grades, named. " + FOUR_IN_WORDS,
        ("graded_list",),
        ("@file", "@line"),
        2,
        OF_FOUR,
        args=(("--explode", "graded_list", "--reward", "graded_list"),),
    ),
    Shape(
        "arena_battles.jsonl",
        [
            {"question_id": f"q{at}", "model_a": "m0", "model_b": "m1", "winner": "model_a", "turn": 1}
            for at in range(4)
        ],
        "Battles of two models with a winner: no reward of an answer.",
        said=(NO_REWARD,),
    ),
    Shape(
        "samples_gsm_2026.jsonl",
        [
            {
                "doc_id": p,
                "doc": {"question": text, "answer": "43"},
                "target": "43",
                "arguments": {"gen_args_0": {"arg_0": text}},
                "resps": [["43", "44"]],
                "filtered_resps": ["43"],
                "filter": "strict-match",
                "metrics": ["exact_match"],
                "doc_hash": f"d{p}",
                "prompt_hash": f"p{p}",
                "target_hash": "t",
                "exact_match": 1.0 - p,
            }
            for p, text in enumerate(QUESTIONS)
        ],
        "lm-eval's samples: one row per document, repeats share one metric. There are no groups, "
        "and that is said; a row alone has no "
        "advantage.",
        ("exact_match",),
        ("@file", "doc_id", "filter"),
        2,
        [None, None],
        said=("no groups: the repeats of a document share one row and one metric",),
    ),
    Shape(
        "2026-11-20T10-00-00_sums_a1.json",
        {
            "version": 2,
            "status": "success",
            "eval": {"task": "sums", "model": "tiny", "config": {"epochs": 4}},
            "results": {"total_samples": 2},
            "samples": [
                {
                    "id": f"sum-{p}",
                    "epoch": a + 1,
                    "input": QUESTIONS[p],
                    "target": "43",
                    "messages": chat(QUESTIONS[p]),
                    "scores": {"match": {"value": "C" if FOUR[p][a] else "I", "answer": "43"}},
                }
                for a in range(4)
                for p in range(2)
            ],
        },
        "An inspect_ai log as JSON, epoch after epoch: C is 1, I is 0. " + FOUR_IN_WORDS,
        ("reward",),
        ("@file", "id"),
        2,
        [0.5, 0.25, -0.5, 0.25, -0.5, 0.25, 0.5, -0.75],
    ),
    Shape(
        "reasoning_gym.jsonl",
        [
            {
                "question": QUESTIONS[p],
                "expected_answer": "43",
                "best_score": max(own),
                "mean_score": sum(own) / 4,
                "completions": [
                    {"model_answer": str(a), "full_model_response": f"answer {a}", "score": r}
                    for a, r in enumerate(own)
                ],
            }
            for p, own in enumerate(FOUR)
        ],
        "Reasoning-gym's evaluation: completions in their entry, each with a score; best and mean are figures of the entry. "
        + FOUR_IN_WORDS,
        ("score",),
        ("@file", "@line"),
        2,
        OF_FOUR,
    ),
    Shape(
        "judge_failures.jsonl",
        rows(
            lambda p, a, r: {
                "prompt_id": p,
                "response": f"answer {a}",
                "judge_score": None if (p, a) == (0, 1) else r,
                "judge_model": "m9",
                "latency_ms": 120 + a,
            }
        ),
        "A judge that failed once: its null is a missing reward, not 0. 1, 0, 1 have the mean 2/3: 1/3, −2/3, 1/3. "
        + FOUR_IN_WORDS,
        ("judge_score",),
        ("prompt_id",),
        2,
        [1 / 3, None, -2 / 3, 1 / 3, 0.25, 0.25, 0.25, -0.75],
    ),
    Shape(
        "traced_runs.jsonl",
        rows(
            lambda p, a, r: {
                "inputs": {"question": QUESTIONS[p]},
                "outputs": {"answer": f"answer {a}"},
                "feedback": {"correctness": {"score": r, "comment": ""}},
            }
        ),
        f"Runs of a tracing service: the question in one object, the score deep in another. {FOUR_IN_WORDS}",
        ("feedback.correctness.score",),
        ("inputs.question",),
        2,
        OF_FOUR,
        args=(("--reward", "feedback.correctness.score"), ("--prompt-col", "inputs.question")),
    ),
    Shape(
        "train_and_validation.jsonl",
        [
            {"prompt_id": f"{split}{p}", "response": f"answer {a}", "reward": r, "split": split}
            for split in ("train", "val")
            for p, own in enumerate(FOUR)
            for a, r in enumerate(own)
        ],
        f"Training and validation in one file: all of it is read, and that is said with what reads one. {FOUR_IN_WORDS}",
        ("reward",),
        ("prompt_id",),
        4,
        OF_FOUR * 2,
        said=("rows of training and of evaluation ('split': 'train' or 'val') are read alike",),
    ),
)
