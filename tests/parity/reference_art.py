"""OpenPipe ART: `tokenize_trajectory_groups`, with trajectories that have a reward and no text."""

from types import SimpleNamespace

from parity import batches, cases


def run(version: str) -> list[dict]:
    """Scaled and centred."""
    del version
    module = _module()
    return [_case(module, batch, scale_rewards=flag) for batch in batches.single() for flag in (True, False)]


def _module():
    """The real module. Its imports (a chat client, images, tokenizers) are for texts, of which there are none."""
    for name in ("art", "art.preprocessing"):
        cases.namespace(name)
    cases.mocked("openai.types.chat.chat_completion", "PIL", "transformers.image_processing_utils")
    cases.mocked("transformers.tokenization_utils_base", "art.trajectories", "art.types")
    from art.preprocessing import tokenize

    return tokenize


def _case(module, batch: batches.Batch, *, scale_rewards: bool) -> dict:
    """The advantage that each trajectory is tokenized with."""
    advantages = [0.0] * len(batch.rewards)

    def tokenized(_tokenizer, _images, _history, advantage, _allow, trajectory, **_):
        advantages[trajectory.row] = advantage
        return SimpleNamespace(assistant_mask=[1], token_ids=[0], logprobs=[0.0])

    module.tokenize_trajectory = tokenized
    for group in dict.fromkeys(batch.groups):
        rows = [row for row, name in enumerate(batch.groups) if name == group]
        members = [
            SimpleNamespace(
                row=row,
                reward=batch.column[row],
                messages_and_choices=[],
                tools=None,
                additional_histories=[],
            )
            for row in rows
        ]
        done = module.tokenize_trajectory_groups(
            None,
            [members],
            allow_training_without_logprobs=True,
            scale_rewards=scale_rewards,
            drop_zero_advantage_trajectories=False,
        )
        list(done)
    return cases.case("grpo", {"scale_rewards": scale_rewards}, batch, advantages)
