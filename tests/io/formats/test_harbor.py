"""Harbor's own rule for the reward of a trial (harbor 0.25 and 0.26)."""

import json

import pytest

from advcli.common.errors import DataError
from advcli.io.formats.harbor import agent, reward
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions


def ended(kind):
    return {"exception_type": kind, "exception_message": "", "occurred_at": ""}


@pytest.mark.parametrize(
    ("rewards", "exception", "steps", "valid", "expected"),
    [
        ({"reward": 1.0}, None, None, None, 1.0),
        # Not the sum.
        ({"reward": 1.0, "style": 0.5}, None, None, None, 1.0),
        ({"tests": 0.5}, None, None, None, 0.5),
        ({"tests": 0.5, "style": 1.0}, None, None, None, None),
        ({}, None, None, None, None),
        (None, None, None, None, None),
        # 0.25 does not write whether the reward is valid: what ended the trial tells.
        ({"reward": 1.0}, ended("AgentTimeoutError"), None, None, 1.0),
        ({"reward": 1.0}, ended("AgentSafetyRefusalError"), None, None, 1.0),
        ({"reward": 1.0}, ended("ApiRateLimitError"), None, None, None),
        ({"reward": 1.0}, ended("NonZeroAgentExitCodeError"), None, None, None),
        ({"reward": 1.0}, None, [{"exception_info": None}], None, 1.0),
        ({"reward": 1.0}, None, [{"exception_info": ended("ApiError")}], None, None),
        # 0.26 writes it.
        ({"reward": 1.0}, ended("ApiError"), None, True, 1.0),
        ({"reward": 1.0}, None, None, False, None),
    ],
)
def test_the_reward_of_a_trial(rewards, exception, steps, valid, expected):
    assert reward({"rewards": rewards}, exception, steps, valid) == expected


def test_a_trial_without_a_verifier_result():
    assert reward(None, None, None, None) is None


def test_several_agents_in_a_job_are_told_apart():
    assert (
        agent({"name": "mini", "version": "1", "model_info": {"name": "tiny", "provider": None}})
        == "mini tiny"
    )
    assert agent({"name": "oracle"}) == "oracle"
    assert agent(None) == ""


def test_a_trajectory_alone_is_refused(tmp_path):
    path = tmp_path / "trajectory.json"
    path.write_text(
        json.dumps({"schema_version": "ATIF-v1.8", "agent": {"name": "m"}, "steps": []}, indent=1)
    )
    with (
        opened([str(path)]) as sources,
        pytest.raises(DataError, match="an ATIF trajectory, which holds no reward"),
    ):
        read(sources, ColumnOptions())
