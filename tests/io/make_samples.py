"""Write the samples in tests/io/data: python tests/io/make_samples.py SOURCES, run from the root of the project.

SOURCES is a folder with the unpacked wheels of verl 0.9.1, trl 1.16.0, ms-swift 4.6.0, atroposlib 0.4.0 and
openpipe-art 0.5.18 (pip download --no-deps, python -m zipfile -e). Where a framework has a function that writes its
dump, that very function is taken out of its source and called: verl's _write_generations (both trainers), TRL's and
ms-swift's GRPOTrainer.log, ms-swift's JsonlWriter, ART's parquet writer. Episodes go through the models and
the saver of the installed package verifiers 0.4.0. The other samples are written by hand in the shape that
the framework's source gives, on the few questions below.
"""

import ast
import json
import os
import sys
import textwrap
from collections import defaultdict, deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pandas as pd

DATA = Path(__file__).parent / "data"
F32 = 0.10000000149011612  # 0.1 as float32, widened
UUIDS = ("0f6c2b1e-7a55-4b0e-9d0c-3a7b2f1c9e11", "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d")
QUESTIONS = ("What is 17*3?", "What is 2+2?")
ANSWERS = (("51", "41", "no idea", "51"), ("4", "4", "5", "four"))
REWARDS = ((1.0, 0.0, 0.0, 1.0), (1.0, 1.0, 0.0, 0.5))
# The rows of both questions, mixed as verl's balancing does: (question, answer).
SHUFFLED = ((0, 0), (1, 2), (1, 0), (0, 3), (0, 1), (1, 3), (0, 2), (1, 1))
IN_ORDER = tuple((question, answer) for question in (0, 1) for answer in range(4))


def taken(path: Path, name: str, scope: dict[str, Any], *, inside: str | None = None) -> Any:
    """A function or class out of a source file, without importing the rest of it."""
    text = path.read_text(encoding="utf-8")
    body = ast.parse(text).body
    if inside:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == inside).body
    node = next(node for node in body if getattr(node, "name", None) == name)
    node.decorator_list = []
    code = ast.unparse(node)
    if inside:
        # A method may say super(): give it a class to be in.
        code = "class Taken(Base):\n" + textwrap.indent(code, "    ")
    exec("from __future__ import annotations\n" + code, scope)
    return getattr(scope["Taken"], name) if inside else scope[name]


def lines(name: str, *rows: dict[str, Any]) -> None:
    path = DATA / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def document(name: str, value: object, *, indent: int | None = 2) -> None:
    path = DATA / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent), encoding="utf-8")


def verl(sources: Path) -> None:
    scope = {"os": os, "json": json, "np": np, "Base": object}
    legacy = taken(
        sources / "verl/verl/trainer/ppo/ray_trainer.py", "_write_generations", scope, inside="RayPPOTrainer"
    )
    for step in (1, 2):
        rows = SHUFFLED if step == 1 else SHUFFLED[::-1]
        legacy(
            [f"user\n{QUESTIONS[question]}\nassistant\n" for question, _ in rows],
            [ANSWERS[question][answer] for question, answer in rows],
            ["51" if question == 0 else "4" for question, _ in rows],
            [REWARDS[question][answer] for question, answer in rows],
            {
                "acc": [REWARDS[question][answer] == 1 for question, answer in rows],
                "overlong_reward": [-0.25 if answer == 2 else 0.0 for _, answer in rows],
            },
            str(DATA / "verl"),
            step,
        )
    path = sources / "verl/verl/trainer/ppo/v1/trainer_base.py"
    classes = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    inside = next(name for name in classes if "Trainer" in name)
    v1 = taken(path, "_write_generations", scope, inside=inside)
    # Two questions of four sessions each; the second session of the first question has two outputs; one row pads.
    rows = [(0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 3, 0), *((1, session, 0) for session in range(4))]
    uids = [f"{UUIDS[question]}_{session}_{output}" for question, session, output in rows]
    v1(
        [f"user\n{QUESTIONS[question]}\nassistant\n" for question, _, _ in rows] + [""],
        [ANSWERS[question][session] for question, session, _ in rows] + [""],
        ["51" if question == 0 else "4" for question, _, _ in rows] + ["51"],
        [REWARDS[question][session] for question, session, _ in rows] + [0.0],
        {"uid": [*uids, "pad5d1f0c3b9a7e4c0f8d2b6a1e93c47f05_0_0"]},
        str(DATA / "verl-v1"),
        7,
    )


class Quiet:
    """What a trainer's log() calls first."""

    def log(self, *_: object) -> None:
        pass


def trainer(taken_class: type, step: int, **more: Any) -> Any:
    """An instance of a trainer with just what its log() looks at."""
    self = taken_class.__new__(taken_class)
    vars(self).update(
        model=SimpleNamespace(training=True),
        state=SimpleNamespace(global_step=step),
        accelerator=SimpleNamespace(is_main_process=True),
        args=SimpleNamespace(report_to=[], output_dir=str(more.pop("output_dir")), log_entropy=False),
        log_completions=True,
        num_completions_to_print=0,
        _metrics={"train": defaultdict(list)},
        **more,
    )
    return self


def trl(sources: Path) -> None:
    """Step 10 and 11 share one generation batch; step 12 mixes two training groups of 4 and one evaluation group of 2."""
    scope: dict[str, Any] = {"os": os, "pd": pd, "Base": Quiet, "math": __import__("math")}
    scope |= {"is_rich_available": lambda: False, "strip_images_from_messages": lambda messages: messages}
    scope |= {"wandb": MagicMock(), "trackio": MagicMock()}
    log = taken(sources / "trl/trl/trainer/grpo_trainer.py", "log", scope, inside="GRPOTrainer")
    (DATA / "trl/completions").mkdir(parents=True, exist_ok=True)
    for step in (10, 11, 12):
        rows = IN_ORDER if step < 12 else (*IN_ORDER, (1, 0), (1, 2))
        prompts = [f"user\n{QUESTIONS[question]}\nassistant\n" for question, _ in IN_ORDER]
        prompts += ["user\nWhat is 9-9?\nassistant\n"] * (len(rows) - 8)
        accuracy = [REWARDS[question][answer] for question, answer in rows]
        self = trainer(
            scope["Taken"],
            step,
            output_dir=DATA / "trl",
            _logs={
                "prompt": deque(prompts),
                "completion": deque(f"{ANSWERS[q][a]} (batch {1 if step < 12 else 2})" for q, a in rows),
                "rewards": {
                    "accuracy_reward": deque(accuracy if step < 12 else accuracy[::-1]),
                    "format_reward": deque(None if answer == 2 else F32 for _, answer in rows),
                },
                "extra": {"extracted": deque(ANSWERS[question][answer] for question, answer in rows)},
                "advantages": deque(round(0.5 - 0.25 * answer, 3) for _, answer in rows),
                "images": [],
            },
        )
        log(self, {})


def swift(sources: Path) -> None:
    utils = sources / "ms_swift/swift/utils/io_utils.py"
    scope: dict[str, Any] = {
        "os": os,
        "json": json,
        "Queue": MagicMock(),
        "Thread": MagicMock(),
        "Base": Quiet,
    }
    scope |= {"dist": MagicMock(**{"is_initialized.return_value": False}), "is_master": lambda: True}
    scope |= {"check_json_format": lambda value: value, "is_last_rank": lambda: True}
    writer = taken(utils, "JsonlWriter", scope)
    scope |= {"transformers": SimpleNamespace(__version__="5.0"), "wandb": MagicMock(run=None)}
    scope |= {"version": SimpleNamespace(parse=lambda text: tuple(map(int, text.split(".")[:2])))}
    scope |= {"swanlab_get_run": lambda: None}
    log = taken(sources / "ms_swift/swift/rlhf_trainers/grpo_trainer.py", "log", scope, inside="GRPOTrainer")
    path = DATA / "ms-swift/completions.jsonl"
    path.unlink(missing_ok=True)
    for step in (5, 10):
        rows = IN_ORDER if step == 5 else IN_ORDER[::-1]
        self = trainer(
            scope["Taken"],
            step,
            output_dir=DATA / "ms-swift",
            jsonl_writer=writer(str(path)),
            _logs={
                "prompt": deque(f"<|im_start|>user\n{QUESTIONS[q]}<|im_end|>\n" for q, _ in rows),
                "completion": deque(ANSWERS[question][answer] for question, answer in rows),
                "rewards": {
                    "MathAccuracy": deque(float("nan") if a == 2 else REWARDS[q][a] for q, a in rows),
                    "Format": deque(0.0 if answer == 2 else 0.5 for _, answer in rows),
                },
                "advantages": deque(round(0.5 - 0.25 * answer, 3) for _, answer in rows),
                "solution": deque("51" if question == 0 else "4" for question, _ in rows),
            },
        )
        log(self, {})
    texts = [f"<|im_start|>user\n{QUESTIONS[question]}<|im_end|>\n" for question, _ in IN_ORDER]
    answers = [ANSWERS[question][answer] for question, answer in IN_ORDER]
    rewards = [REWARDS[question][answer] for question, answer in IN_ORDER]
    megatron = {"gen_step": [3] * 8, "prompt": texts, "completion": answers, "MathAccuracy": rewards}
    (DATA / "ms-swift-megatron/completions.jsonl").unlink(missing_ok=True)
    writer(str(DATA / "ms-swift-megatron/completions.jsonl")).append(megatron | {"advantages": rewards})
    (DATA / "ms-swift-ray/completions.jsonl").unlink(missing_ok=True)
    writer(str(DATA / "ms-swift-ray/completions.jsonl")).append(
        [
            {"gen_step": 3, "prompt": text, "completion": answer, "reward": reward}
            for text, answer, reward in zip(texts, answers, rewards, strict=True)
        ]
    )
    lines(
        "ms-swift-3.1/completions.jsonl",
        {
            "step": ["2"] * 8,
            "messages": [[{"role": "user", "content": QUESTIONS[question]}] for question, _ in IN_ORDER],
            "completion": answers,
            "reward": rewards,
        },
    )


def art(sources: Path) -> None:
    class Trajectory(SimpleNamespace):
        pass

    scope: dict[str, Any] = {"json": json, "Trajectory": Trajectory, "Choice": int, "Choices": int}
    path = sources / "openpipe_art/art/utils/trajectory_logging.py"
    taken(path, "_flatten_message", scope)
    write = taken(path, "write_trajectory_groups_parquet", scope)
    groups = [
        SimpleNamespace(
            metadata={"scenario_id": f"s{question}"},
            metrics={},
            logs=[],
            trajectories=[
                Trajectory(
                    messages_and_choices=[
                        {"role": "user", "content": QUESTIONS[question]},
                        {"finish_reason": "stop", "message": {"role": "assistant", "content": answer}},
                    ],
                    reward=REWARDS[question][place],
                    metrics={"duration": 1.5},
                    metadata={},
                    tools=None,
                    logs=[],
                )
                for place, answer in enumerate(ANSWERS[question])
            ],
        )
        for question in (0, 1)
    ]
    (DATA / "art/train").mkdir(parents=True, exist_ok=True)
    write(groups, DATA / "art/train/0007.parquet")
    rows = [
        {
            "group_index": question,
            "format_version": 2,
            "trajectory_index": place,
            "group_json": json.dumps({"metadata": {}}),
            "trajectory_json": json.dumps({"messages": []}),
            "reward": REWARDS[question][place],
        }
        for question, place in IN_ORDER
    ]
    rows.append({"group_index": 2, "format_version": 2, "group_json": "{}"})
    (DATA / "art-v2/train").mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(DATA / "art-v2/train/0008.parquet", compression="zstd")
    lines(
        "art-jsonl/train/0003.jsonl",
        *(
            {
                "trajectories": [
                    {
                        "reward": REWARDS[question][place],
                        "metrics": {"duration": 1.5},
                        "metadata": {},
                        "messages_and_choices": [{"role": "user", "content": QUESTIONS[question]}],
                        "logs": [],
                    }
                    for place in range(4)
                ],
                "metadata": {"scenario_id": f"s{question}"},
            }
            for question in (0, 1)
        ),
    )


def trace(question: int, place: int, *, advantage: float | None) -> dict[str, Any]:
    node = {
        "parent": 0,
        "message": {"role": "assistant", "content": ANSWERS[question][place]},
        "sampled": True,
        "token_ids": [3, 4],
        "mask": [True, True],
        "logprobs": [-0.1, -0.2],
    }
    rewards = {"correct": {"score": REWARDS[question][place], "weight": 2.0}, "format": None}
    rewards["brief"] = {"score": 0.5, "weight": 0.2}
    return {
        "version": 1,
        "id": f"t{question}{place}",
        "task": task(question),
        "agent": {"name": "agent", "trainable": True, "config": {}},
        "nodes": [
            {
                "message": {"role": "user", "content": QUESTIONS[question]},
                "sampled": False,
                "token_ids": [1, 2],
                "mask": [False, False],
                "logprobs": [],
            },
            node if advantage is None else {**node, "advantages": [advantage, advantage]},
        ],
        "rewards": rewards,
        "metrics": {"num_tries": 1.0},
        "info": {} if advantage is None else {"advantage": advantage},
        "is_completed": True,
        "ok": True,
        "stop_condition": "stop",
        "errors": [],
    }


def task(question: int) -> dict[str, Any]:
    data = {"idx": question, "prompt": QUESTIONS[question]}
    return {"type": "Task", "data": data, "key": f"k{question}", "hash": f"h{question}"}


def episode(question: int, place: int, *, group: bool, advantage: float | None = None) -> dict[str, Any]:
    about: dict[str, Any] = {
        "id": f"e{question}{place}",
        "env": {"id": "gsm8k", "name": "math"},
        "task": task(question),
    }
    if group:
        work = {"type": "train", "step": 2 + place % 2, "policy": {"start": 2, "end": 2}}
        about |= {"group": {"id": f"g{question}"}, "run": {"type": "train", "id": "r1", "work": work}}
    return about | {"ok": True, "errors": [], "traces": [trace(question, place, advantage=advantage)]}


def episodes(name: str, *records: dict[str, Any]) -> None:
    """Episodes through verifiers' own models and saver."""
    from verifiers.v1.episode import WireEpisode
    from verifiers.v1.utils.trace_store import write_episode

    path = DATA / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    for record in records:
        write_episode(path.parent, WireEpisode.model_validate(record))


def agents() -> None:
    for window in ("all", "effective"):
        episodes(
            f"prime-rl/rollouts/step_3/train/{window}/traces.jsonl",
            *(
                episode(q, a, group=True, advantage=None if window == "all" else 0.25 * a)
                for q, a in SHUFFLED
            ),
        )
    episodes("prime-rl/rollouts/step_3/eval/all/traces.jsonl", episode(0, 0, group=True))
    lines(
        "prime-rl-rollouts/rollouts/step_12/train_rollouts.jsonl",
        *(
            {
                "example_id": question,
                "env_name": "math",
                "prompt": [{"role": "user", "content": QUESTIONS[question]}],
                "completion": [{"role": "assistant", "content": ANSWERS[question][answer]}],
                "reward": REWARDS[question][answer],
                "advantage": REWARDS[question][answer] - 0.5,
                "is_filtered": False,
                "filters": {},
            }
            for question, answer in SHUFFLED
        ),
    )
    episodes("verifiers-v1/traces.jsonl", *(episode(q, a, group=False) for q, a in SHUFFLED))
    lines(
        "verifiers/results.jsonl",
        *(
            {
                "example_id": question,
                "prompt": [{"role": "user", "content": QUESTIONS[question]}],
                "completion": [{"role": "assistant", "content": ANSWERS[question][answer]}],
                "answer": "51",
                "reward": REWARDS[question][answer],
                "error": None,
                "timing": {"total": 1.2},
                "is_completed": True,
                "is_truncated": False,
                "stop_condition": "max_turns_reached",
                "metrics": {"correct_answer": REWARDS[question][answer]},
                "tool_defs": None,
                "correct_answer": REWARDS[question][answer],
            }
            for question, answer in SHUFFLED
        ),
    )
    document(
        "verifiers/metadata.json",
        {"env_id": "gsm8k", "model": "m", "num_examples": 2, "rollouts_per_example": 4, "avg_reward": 0.5},
    )
    for question, answer in IN_ORDER:
        document(
            f"rllm/episodes/train_step_3_epoch_0/episode_hashh{question}_idgsm8k-{question}_{answer}.json",
            {
                "training_step": 3,
                "epoch": 0,
                "episode_id": f"gsm8k-{question}:{answer}",
                "session_id": None,
                "task": {"question": QUESTIONS[question]},
                "task_hash": f"h{question}",
                "is_correct": REWARDS[question][answer] == 1,
                "termination_reason": "env_done",
                "metrics": {},
                "trajectories": [
                    {"name": "solver", "uid": "u1", "reward": REWARDS[question][answer], "steps": []},
                    {"name": "judge", "uid": "u2", "reward": 0.25 * answer, "steps": []},
                ],
            },
        )
    document("rllm/episodes/train_step_3_epoch_0/batch_summary.json", {"num_episodes": 8, "mean_reward": 0.5})
    lines(
        "atropos/groups.jsonl",
        *(
            {
                "tokens": [[1, 2, 3, 4]] * 4,
                "masks": [[-100, -100, 3, 4]] * 4,
                "scores": list(REWARDS[question]),
                "messages": [
                    [
                        {"role": "user", "content": QUESTIONS[question]},
                        {"role": "assistant", "content": answer},
                    ]
                    for answer in ANSWERS[question]
                ],
                "advantages": None if question else [[0.0, 0.0, 0.5 - a, 0.5 - a] for a in range(4)],
                "ref_logprobs": None,
                "overrides": None,
                "group_overrides": None,
            }
            for question in (0, 1)
        ),
    )
    lines(
        "tinker/iteration_000012/train_rollout_summaries.jsonl",
        *(
            {
                "schema_version": 1,
                "split": "train",
                "iteration": 12,
                "group_idx": question,
                "traj_idx": answer,
                "tags": ["gsm8k"],
                "sampling_client_step": 12,
                "total_reward": REWARDS[question][answer],
                "final_reward": 0.0,
                "trajectory_metrics": {},
                "steps": [
                    {
                        "step_idx": 0,
                        "ob_len": 88,
                        "ac_len": 100 + answer,
                        "reward": 1.0,
                        "episode_done": False,
                    },
                    {"step_idx": 1, "ob_len": 88, "ac_len": 20, "reward": 0.0, "episode_done": True},
                ],
                "final_ob_len": 0,
            }
            for question, answer in IN_ORDER
        ),
    )
    lines("tinker/metrics.jsonl", {"step": 12, "env/all/reward/total": 0.5, "progress/batch": 12})
    lines(
        "tinker-bench/gsm8k/trajectories.jsonl",
        *(
            {
                "idx": answer,
                "benchmark": "gsm8k",
                "example_id": f"c0ffee{question}",
                "turns": [{"role": "assistant", "content": ANSWERS[question][answer]}],
                "reward": REWARDS[question][answer],
                "metrics": {},
                "logs": {},
                "error": None,
                "time_seconds": 1.0,
            }
            for question, answer in IN_ORDER
        ),
    )


def nemo() -> None:
    def row(question: int, answer: int, place: int) -> dict[str, Any]:
        advantage = 0.75 - 0.5 * answer
        return {
            "content": [[QUESTIONS[question], ANSWERS[question][answer]]],
            # Of other rows under dynamic sampling.
            "rewards": [9.0 - place],
            "filtered_rewards": [REWARDS[question][answer]],
            "input_lengths": [5],
            "token_ids": [[1, 10 + question, 3, 4, 5, 0]],
            "token_loss_mask": [[0, 0, 1, 1, 1, 0]],
            "sample_loss_mask": [1.0],
            "advantages": [[advantage] * 6],
            "generation_logprobs": [[0.0, 0.0, -0.1, -0.1, -0.1, 0.0]],
            "prev_logprobs": [[0.0, 0.0, -0.1, -0.1, -0.1, 0.0]],
            "idx": place,
        }

    lines("nemo-rl/exp_001/train_data_step4.jsonl", *(row(q, a, i) for i, (q, a) in enumerate(IN_ORDER)))
    lines(
        "nemo-rl-val/exp_001/val_data_step5.jsonl",
        *(
            {
                "content": [
                    [
                        {"role": "user", "content": QUESTIONS[question]},
                        {"role": "assistant", "content": ANSWERS[question][answer]},
                    ]
                ],
                "rewards": [REWARDS[question][answer]],
                "idx": place,
            }
            for place, (question, answer) in enumerate(IN_ORDER)
        ),
    )
    document(
        "nemo-rl-eval/evaluation_data.json",
        {
            "evaluation_data": [
                {
                    "prompt": QUESTIONS[question],
                    "response": ANSWERS[question][answer],
                    "reward": REWARDS[question][answer],
                    "message_log": "[{'role': 'user', 'content': '...'}]",
                    "extra_env_info": "{'ground_truth': '4'}",
                    "sample_index": place,
                }
                for place, (question, answer) in enumerate(IN_ORDER)
            ]
        },
    )
    document("nemo-rl-eval/config.json", {"num_tests_per_prompt": 4})
    lines(
        "nemo-gym/rollouts.jsonl",
        *(
            {
                "responses_create_params": {"input": [{"role": "user", "content": QUESTIONS[question]}]},
                "response": {"output": [{"type": "message", "content": ANSWERS[question][answer]}]},
                "reward": REWARDS[question][answer],
                "agent_ref": {"type": "responses_api_agents", "name": "simple_agent"},
                "_ng_task_index": question,
                "_ng_rollout_index": answer,
            }
            for question, answer in SHUFFLED
        ),
    )


def others() -> None:
    lines(
        "openrlhf/rm.jsonl",
        *(
            {
                "input": f"User: {QUESTIONS[question]}\nAssistant: ",
                "output": ANSWERS[question][answer],
                "reward": REWARDS[question][answer],
            }
            for question, answer in SHUFFLED
        ),
    )
    lines(
        "easyr1/experiment_log.jsonl",
        *(
            {
                "step": step,
                "reward": {"overall": 0.46, "format": 0.1, "accuracy": 0.5},
                "critic": {"score": {"mean": 0.46, "max": 1.0, "min": 0.0}},
                "response_length": {"mean": 412.5, "max": 2048.0},
            }
            for step in (1, 2)
        ),
    )
    evals = "skyrl/dumped_evals/global_step_20_evals"
    lines(
        f"{evals}/openai_gsm8k.jsonl",
        *(
            {
                "input_prompt": f"<|im_start|>user\n{QUESTIONS[question]}<|im_end|>\n",
                "output_response": ANSWERS[question][answer],
                "score": [0.0, 0.0, REWARDS[question][answer]] if question else REWARDS[question][answer],
                "stop_reason": "stop",
                "env_class": "gsm8k",
                "env_extras": {"reward_spec": {"ground_truth": "4"}},
                "data_source": "openai/gsm8k",
            }
            for question, answer in IN_ORDER
        ),
    )
    lines(f"{evals}/aggregated_results.jsonl", {"eval/all/avg_score": 0.5, "eval/all/pass_at_4": 1.0})
    questions = [question for question, _ in IN_ORDER]
    scores = [0.7001953125 if REWARDS[q][a] == 1 else REWARDS[q][a] for q, a in IN_ORDER]
    lines(
        "roll/rollout_dump_data.step_3.jsonl",
        {
            "id": [f"gsm8k-{question}" for question in questions],
            "prompt": [QUESTIONS[question] for question in questions],
            "tag": ["gsm8k"] * 8,
            "domain": ["math_rule"] * 8,
            "ground_truth": ["51" if question == 0 else "4" for question in questions],
            "responses": [ANSWERS[question][answer] for question, answer in IN_ORDER],
            "scores": scores,
            "sampling_params": ['{"global_step": 3}'] * 8,
            "global_step": [3] * 8,
        },
    )
    lines(
        "roll-agentic/rollout_dump_data.step_4.jsonl",
        {
            "trajectory_data": [
                json.dumps(
                    {
                        "trajectory_id": f"swe_{question}_{answer}",
                        "env_info": {"group_id": question, "env_id": answer, "seed": 11, "episode_id": 5},
                        "reward_info": {
                            "episode_reward": REWARDS[question][answer],
                            "step_rewards": [0, 1.0],
                        },
                    }
                )
                for question, answer in IN_ORDER
            ],
            "messages": ["[]"] * 8,
            "tools": ["[]"] * 8,
            "exp_name": ["swe"] * 8,
            "global_step": [4] * 8,
        },
    )
    lines(
        "roll-board/data_20260101_120000_001.jsonl",
        *(
            {
                "prompt": QUESTIONS[question],
                "response": ANSWERS[question][answer],
                "reward": REWARDS[question][answer] - 0.5,
                "token_rewards": [0.0, REWARDS[question][answer] - 0.5],
                "values": [0.0, 0.0],
                "logprobs": [-0.1, -0.2],
                "step": 6,
                "response_tokens": 2 + answer,
            }
            for question, answer in IN_ORDER
        ),
    )
    lines(
        "open-instruct/run_rollouts_000000.jsonl",
        *(
            {
                "step": 3,
                "sample_idx": place,
                "prompt_idx": question,
                "prompt_tokens": [1, 2, question],
                "response_tokens": [4, 5],
                "reward": 10 * REWARDS[question][answer],
                "advantage": 10 * REWARDS[question][answer] - 5,
                "finish_reason": "stop",
                "dataset": "gsm8k",
                "ground_truth": ["4"],
                "request_info": {"num_calls": 0, "tool_errors": ""},
                "logprobs": [-0.1, float("nan")] if place == 2 else [-0.1, -0.2],
            }
            for place, (question, answer) in enumerate(IN_ORDER)
        ),
    )
    lines(
        "open-instruct/run_metadata.jsonl",
        {"run_name": "run", "git_commit": "abc", "model_name": "m", "timestamp": "2026"},
    )
    for question in (0, 1):
        lines(
            f"areal/rollout/3/{17 + question}.jsonl",
            *(
                {
                    "task_id": 17 + question,
                    "sample_idx": answer,
                    "seqlen": 140,
                    "prompt_len": 60,
                    "head_version": -1,
                    "tail_version": 3,
                    "reward": REWARDS[question][answer],
                    "prompt": f"<|im_start|>user\n{QUESTIONS[question]}<|im_end|>\n",
                    "completion": ANSWERS[question][answer],
                }
                for answer in range(4)
            ),
        )
    document(
        "oat/eval_results/30.json",
        [
            {
                "problem": QUESTIONS[question],
                "output": ANSWERS[question][answer],
                "scores": REWARDS[question][answer],
                "format_problem": f"<|im_start|>user\n{QUESTIONS[question]}",
                "reference": "4",
                "generator": "run1",
            }
            for question, answer in IN_ORDER
        ],
        indent=4,
    )
    lines(
        "slime/rollout_data/5.jsonl",
        {
            "rollout_id": 5,
            "samples": [
                {
                    "group_index": 12 + question,
                    "index": answer,
                    "rollout_id": 5,
                    "prompt": QUESTIONS[question],
                    "response": ANSWERS[question][answer],
                    "response_length": 2 + answer,
                    "label": "4",
                    "reward": {"score": REWARDS[question][answer], "acc": 1}
                    if question
                    else REWARDS[0][answer],
                    "status": "completed",
                    "remove_sample": False,
                    "metadata": {},
                }
                for question, answer in IN_ORDER
            ],
        },
    )
    lines(
        "nested/rollouts.jsonl",
        *(
            {
                "prompt_id": f"p{question}",
                "global_step": 2,
                "reward": 0.5,
                "rollouts": [
                    {"text": ANSWERS[question][answer], "reward": REWARDS[question][answer]}
                    for answer in range(4)
                ],
            }
            for question in (0, 1)
        ),
    )
    lines(
        "lists/groups.jsonl",
        *(
            {
                "prompt": QUESTIONS[question],
                "responses": list(ANSWERS[question]),
                "rewards": list(REWARDS[question]),
                "step": 2,
            }
            for question in (0, 1)
        ),
    )


if __name__ == "__main__":
    where = Path(sys.argv[1])
    for make in (verl, trl, swift, art):
        make(where)
    agents()
    nemo()
    others()
