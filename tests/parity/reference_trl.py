"""TRL: real trainers on a tiny random model; the reward functions return the rewards of a batch.

Groups are consecutive rows: `num_generations` completions of each prompt.
"""

import contextlib
import logging
import math
import os
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

from parity import batches, cases

SCALES = ("group", "batch", "none")
CLIP = (-1.0, 0.8)


def run(version: str) -> list[dict]:
    """GRPO at every scale, GDPO, RLOO, one generation per prompt in evaluation, and AsyncGRPO.

    Up to 1.5, None is treated in another way, and fewer batches do: the rest is as in the newest.
    """
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    release = tuple(map(int, version.split(".")[:2]))
    several = [batch for batch in batches.several() if batch.n]
    every = [*(batch for batch in batches.single() if batch.n), *several, *batches.missing()]
    if release < (1, 6):
        every = [every[1], every[2], several[0], *batches.missing()]
    if release < (0, 22):  # a row without any reward raises an error there; RLOO is another trainer
        scored = [batch for batch in every if all(not all(map(math.isnan, row)) for row in batch.matrix)]
        return [_trained("GRPO", batch, scale_rewards=flag) for batch in scored for flag in (True, False)]
    done = [_trained("GRPO", batch, scale_rewards=scale) for batch in every for scale in SCALES]
    if release >= (0, 27):
        normalize = {"multi_objective_aggregation": "normalize_then_sum"}
        done += [_trained("GRPO", batch, **normalize) for batch in [every[1], *several, *batches.missing()]]
    for batch in every:
        done += [_trained("RLOO", batch, normalize_advantages=flag) for flag in (False, True)]
    done += [_trained("RLOO", batch, reward_clip_range=CLIP) for batch in (every[1], every[-1])]
    if release >= (1, 6):
        done += [_trained("GRPO", _alone(), evaluate=True, scale_rewards=scale) for scale in SCALES]
        done += [_trained("RLOO", _alone(), evaluate=True)]
        done += [_async(batch) for batch in [*batches.single(), *batches.several(), *batches.missing()]]
    return done


def _alone() -> batches.Batch:
    batch = batches.single()[3]
    return replace(batch, n=1, groups=[f"g{row}" for row in range(len(batch.rewards))])


def _columns(batch: batches.Batch) -> list[list[float | None]]:
    rows = [row if isinstance(row, list) else [row] for row in batch.rewards]
    return [list(column) for column in zip(*rows, strict=True)]


def _functions(batch: batches.Batch) -> list:
    """One reward function per column; each gives the rewards by position."""

    def function(index: int, values: list[float | None]):
        def reward(**_) -> list[float | None]:
            return values

        reward.__name__ = f"r{index}"
        return reward

    return [function(index, column) for index, column in enumerate(_columns(batch))]


def _model():
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    words = ["<pad>", "<eos>", "<unk>", *"abcdefgh"]
    tokens = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    names |= {"model_input_names": ["input_ids", "attention_mask"]}
    torch.manual_seed(0)
    small = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 1, "num_key_value_heads": 1}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1, "vocab_size": len(words)}
    model = Qwen2ForCausalLM(Qwen2Config(**small, **heads, **ids))
    return model, PreTrainedTokenizerFast(tokenizer_object=tokens, **names)


def _trained(name: str, batch: batches.Batch, *, evaluate: bool = False, **knobs) -> dict:
    """One step of a real trainer; its advantages, and where it writes a file, those of the file."""
    import trl

    rows = len(batch.rewards)
    knobs |= {"reward_weights": batch.weights} if batch.weights else {}
    given = dict(knobs)
    if name == "RLOO" or evaluate:
        given["beta"] = 0.0  # the KL term would hang on the model
    sizes = {"per_device_train_batch_size": rows, "num_generations": batch.n}
    if evaluate:
        sizes |= {"per_device_eval_batch_size": rows, "num_generations": rows, "num_generations_eval": 1}
    with tempfile.TemporaryDirectory() as folder, _silence():
        config = getattr(trl, f"{name}Config")(
            output_dir=folder,
            max_completion_length=2,
            max_steps=1,
            logging_steps=1,
            log_completions=True,
            report_to="none",
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            disable_tqdm=True,
            shuffle_dataset=False,
            **sizes,
            **given,
        )
        trainer = _trainer(name, batch, config)
        advantages = _watch(trainer)
        trainer.evaluate() if evaluate else trainer.train()
        _check(advantages, Path(folder) / "completions")
    knobs = {"num_generations": batch.n, **knobs}
    return cases.case(name, knobs, batch, advantages)


def _trainer(name: str, batch: batches.Batch, config):
    import trl
    from datasets import Dataset

    model, tokenizer = _model()
    prompts = Dataset.from_dict({"prompt": ["abcdefgh"[i % 8] for i in range(len(batch.rewards) // batch.n)]})
    return getattr(trl, f"{name}Trainer")(
        model=model,
        reward_funcs=_functions(batch),
        args=config,
        train_dataset=prompts,
        eval_dataset=prompts,
        processing_class=tokenizer,
    )


def _watch(trainer) -> list[float]:
    """A list that receives the advantages when the trainer has computed them."""
    advantages: list[float] = []
    inner = trainer._generate_and_score_completions

    def outer(inputs):
        output = inner(inputs)
        advantages[:] = output["advantages"].tolist()
        return output

    trainer._generate_and_score_completions = outer
    return advantages


def _check(advantages: list[float], folder: Path) -> None:
    """The file that `log_completions` wrote has the same numbers."""
    import pyarrow.parquet

    if not advantages:
        raise ValueError("the trainer computed no advantages")
    for path in folder.glob("*.parquet"):
        dumped = pyarrow.parquet.read_table(path).column("advantage").to_pylist()
        if dumped != advantages:
            raise ValueError(f"the trainer wrote {dumped} and used {advantages}")


@contextlib.contextmanager
def _silence():
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def _async(batch: batches.Batch) -> dict:
    """AsyncGRPO scores a group when it is finished: its method on each group, rows in the order of the batch."""
    import asyncio
    from types import SimpleNamespace

    from trl.experimental.async_grpo import async_rollout_worker as worker

    advantages = [0.0] * len(batch.rewards)
    for group in dict.fromkeys(batch.groups):
        rows = [row for row, name in enumerate(batch.groups) if name == group]
        part = replace(batch, rewards=[batch.rewards[row] for row in rows])
        functions = _functions(part)
        loop = SimpleNamespace(
            reward_funcs=functions,
            reward_func_names=[function.__name__ for function in functions],
            _env_reward_types=[],
            _provides_rollout_reward=False,
        )
        nothing = [[] for _ in rows]
        tokens = [SimpleNamespace(input_ids=[0], completion_mask=[1], old_log_probs=[0.0])]
        finished = worker.RolloutGroup(
            prompts=nothing,
            reward_kwargs={},
            completions=nothing,
            completions_ids=nothing,
            completions_sequences=[tokens for _ in rows],
            tool_call_counts=[0] * len(rows),
            tool_failure_counts=[0] * len(rows),
            model_version=0,
            group_id=0,
            env_rewards=[None] * len(rows),
            rollout_rewards=[None] * len(rows),
        )
        samples = asyncio.run(worker._AsyncRolloutLoop._score_group(loop, finished))
        for row, sample in zip(rows, samples, strict=True):
            advantages[row] = sample.advantage
    return cases.case("AsyncGRPO", {}, replace(batch, weights=None), advantages)
