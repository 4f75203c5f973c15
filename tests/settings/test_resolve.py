"""Defaults < configuration < preset < --set < flags."""

import json

import pytest

from advcli.common.errors import UsageError
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions
from advcli.settings.resolve import parse_spec, resolve, versus

VERL = """
algorithm:
  adv_estimator: {estimator}
  norm_adv_by_std_in_grpo: true
  use_kl_in_reward: false
actor_rollout_ref:
  actor: {{use_kl_loss: true}}
  rollout: {{n: 8, val_kwargs: {{n: 1}}}}
data: {{train_batch_size: 64}}
"""
EASYR1 = """
algorithm:
  adv_estimator: grpo
  keep_pos_ratio: 0.6
  keep_neg_ratio: 0.4
  compute_new_adv: true
  disable_kl: false
  use_kl_loss: true
worker:
  rollout: {n: 5}
"""
TRL = {
    "num_generations": 4,
    "scale_rewards": "batch",
    "reward_weights": [1.0, 0.5],
    "beta": 0.0,
    "epsilon": 0.2,
    "loss_type": "dapo",
    "multi_objective_aggregation": "sum_then_normalize",
}


@pytest.fixture
def resolved(tmp_path):
    """Resolve a configuration text with flags: (settings, columns, warnings, origin of each setting)."""

    def run(text="", *pairs, preset=None, columns=None, **flags):
        path = tmp_path / "c.yaml"
        path.write_text(text)
        file = path if text else None
        return resolve(flags, columns or ColumnOptions(), preset=preset, config_file=file, pairs=pairs)

    return run


def test_nothing_given_is_the_default(resolved):
    assert resolved() == (Settings(), ColumnOptions(), (), {})
    assert resolved(estimator=None, scale=None, keep_pos=None)[0] == Settings()


def test_verl(resolved):
    settings, columns, warnings, _ = resolved(VERL.format(estimator="grpo"))
    assert settings == Settings(estimator="grpo", scale="group")
    assert columns == ColumnOptions(n=8)
    assert warnings == ()


def test_easyr1(resolved):
    settings, columns, warnings, _ = resolved(EASYR1)
    assert settings == Settings("grpo", keep_pos=0.6, keep_neg=0.4, compute_new_adv=True)
    assert (columns.n, warnings) == (5, ())


@pytest.mark.parametrize("indent", [None, 2])
def test_trl_json(resolved, indent):
    settings, columns, warnings, _ = resolved(json.dumps(TRL, indent=indent))
    assert settings == Settings(scale="batch")
    assert columns == ColumnOptions(n=4, weights=(1.0, 0.5))
    assert warnings == ()


@pytest.mark.parametrize("flag", [None, "rloo", "rloo:eps=0.1"])
def test_the_std_switch_of_grpo_leaves_rloo_alone(resolved, flag):
    """verl writes `norm_adv_by_std_in_grpo: true` into every configuration; its rloo does not look at it."""
    text = VERL.format(estimator="grpo" if flag else "rloo")
    settings, _, _, _ = resolved(text, estimator=flag)
    assert (settings.estimator, settings.scale) == ("rloo", None)
    assert resolved(text, estimator=flag, scale="group")[0].scale == "group"
    assert resolved(text, "norm_adv_by_std_in_grpo=false", estimator=flag)[0].scale is None
    assert resolved(text, "scale_rewards=batch", estimator=flag)[0].scale is None
    assert resolved(text, estimator="grpo")[0].scale == "group"


def test_each_layer_beats_the_one_below(resolved):
    def keep_pos(*args, **more):
        return resolved(*args, **more)[0].keep_pos

    assert keep_pos() == 1
    assert keep_pos(EASYR1) == 0.6
    assert keep_pos(EASYR1, preset="aggressive") == 0.5
    assert keep_pos(EASYR1, "algorithm.keep_pos_ratio=0.25", preset="aggressive") == 0.25
    assert keep_pos(EASYR1, "keep_pos_ratio=0.25") == 0.25
    assert keep_pos(EASYR1, "keep_pos_ratio=0.25", preset="aggressive", keep_pos=0.9) == 0.9
    assert keep_pos(EASYR1, "keep_pos_ratio=0.25", estimator="grpo:keep_pos=0.8") == 0.8
    assert keep_pos(EASYR1, estimator="grpo:keep_pos=0.8", keep_pos=0.0) == 0.0


def test_flags_beat_the_configuration(resolved):
    flags = {"estimator": "rloo", "scale": "batch", "keep_neg": 0.0, "compute_new_adv": False}
    settings, columns, _, _ = resolved(EASYR1, columns=ColumnOptions(n=2), missing="zero", **flags)
    assert settings == Settings("rloo", "batch", {}, 0.6, 0.0, compute_new_adv=False, missing="zero")
    assert columns.n == 2
    # 0 is wrong, and said to be so later; it is not "nothing given".
    assert resolved(EASYR1, columns=ColumnOptions(n=0))[1].n == 0


def test_a_preset_recomputes_unless_a_flag_says_no(resolved):
    assert resolved(preset="conservative")[0] == Settings(keep_pos=0.8, keep_neg=0.7, compute_new_adv=True)
    assert resolved(preset="conservative", compute_new_adv=False)[0].compute_new_adv is False
    with pytest.raises(UsageError, match="unknown preset 'agressive'; try aggressive"):
        resolved(preset="agressive")


def test_set_overrides_the_file_with_or_without_the_prefix(resolved):
    text = VERL.format(estimator="grpo")
    assert resolved(text, "norm_adv_by_std_in_grpo=false")[0].scale == "none"
    assert resolved(text, "algorithm.norm_adv_by_std_in_grpo=false")[0].scale == "none"
    assert resolved(text, "actor_rollout_ref.rollout.n=4")[1].n == 4
    assert resolved("rollout: {n: 8}\n", "worker.rollout.n=4")[1].n == 4
    assert resolved("{}", "num_generations=16")[1].n == 16
    # A key switched off by hand is no longer a reason to warn.
    warned = text.replace("use_kl_in_reward: false", "use_kl_in_reward: true")
    assert len(resolved(warned)[2]) == 1
    assert resolved(warned, "algorithm.use_kl_in_reward=false")[2] == ()


def test_set_overrides_a_key_of_another_name(resolved):
    text = VERL.format(estimator="grpo")
    assert resolved(text, "scale_rewards=none")[0].scale == "none"
    assert resolved(text, "num_generations=2")[1].n == 2


@pytest.mark.parametrize("pair", ["rollout.n=4", "n=4", "enable=false"])
def test_an_override_that_is_ignored_changes_nothing(resolved, pair):
    text = VERL.format(estimator="grpo") + "filter_groups: {enable: true}\n"
    settings, columns, (ignored, lost), _ = resolved(text, pair)
    assert ignored.startswith(f"--set {pair.partition('=')[0]} is ignored")
    assert "filter_groups.enable is True" in lost
    assert (settings.scale, columns.n) == ("group", 8)


def test_origin_says_where_a_setting_comes_from(resolved):
    args = EASYR1, "keep_neg_ratio=0.2"
    origin = resolved(*args, preset="aggressive", scale="none")[3]
    assert {
        name: origin[name].rpartition("/")[2] for name in ("estimator", "keep_pos", "keep_neg", "scale")
    } == {
        "estimator": "c.yaml",
        "keep_pos": "preset aggressive",
        "keep_neg": "--set",
        "scale": "",
    }


def test_a_wrong_override_is_not_blamed_on_the_file(resolved):
    with pytest.raises(UsageError, match=r"^--set: keep.pos.* is 'abc', expected a number"):
        resolved(EASYR1, "keep_pos_ratio=abc")


def test_set_null_takes_a_key_back(resolved):
    assert resolved(EASYR1, "keep_pos_ratio=null")[0].keep_pos == 1


def test_warnings_of_file_and_overrides_arrive(resolved):
    text = VERL.format(estimator="grpo").replace("use_kl_in_reward: false", "use_kl_in_reward: true")
    _, _, warnings, _ = resolved(text, "lr=1")
    assert [
        next(key for key in ("lr", "algorithm.use_kl_in_reward") if key in text) for text in warnings
    ] == [
        "lr",
        "algorithm.use_kl_in_reward",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("keep_pos_ratio: high", r"c\.yaml: keep_pos_ratio is 'high', expected a number"),
        ("keep_pos_ratio: true", r"c\.yaml: keep.pos.* is True, expected a number"),
        ("compute_new_adv: maybe", r"c\.yaml: compute_new_adv is 'maybe', expected true or false"),
        (
            "num_generations: 0",
            r"c\.yaml: num_generations is 0, expected a whole number from 1 to 2,147,483,648",
        ),
        ("num_generations: 2.5", r"c\.yaml: n.* is 2.5, expected a whole number"),
        ("num_generations: [4]", r"c\.yaml: n.* is \[4\], expected a number"),
        ("adv_estimator: 3", r"c\.yaml: .*estimator is 3, expected a name"),
        ("scale_rewards: 0.5", r"c\.yaml: scale.* is 0.5, expected a name"),
        ("reward_weights: 1", r"c\.yaml: .*weights is 1, expected a list of numbers"),
        ("reward_weights: [1, x]", r"c\.yaml: .*weights is 'x', expected a number"),
        ("num_generations: 4\nworker: {rollout: {n: 8}}", r"c\.yaml: .*disagree about n: 4 and 8"),
    ],
)
def test_values_that_make_no_sense(resolved, text, message):
    with pytest.raises(UsageError, match=message):
        resolved(text)


@pytest.mark.parametrize(
    ("text", "setting", "value"),
    [
        ("keep_pos_ratio: '0.7'", "keep_pos", 0.7),
        ("keep_pos_ratio: 7e-1", "keep_pos", 0.7),
        ("compute_new_adv: 'True'", "compute_new_adv", True),
        ("compute_new_adv: no", "compute_new_adv", False),
        ("keep_neg_ratio: 0", "keep_neg", 0.0),
    ],
)
def test_values_in_other_clothes(resolved, text, setting, value):
    found = getattr(resolved(text)[0], setting)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("spec", "found", "knobs"),
    [
        ("", {}, {}),
        ("rloo", {"estimator": "rloo"}, {}),
        ("grpo:", {"estimator": "grpo"}, {}),
        ("grpo:eps=1e-4,ddof=0", {"estimator": "grpo"}, {"eps": 1e-4, "ddof": 0}),
        ("pkpo:k=4,form=plain", {"estimator": "pkpo"}, {"k": 4, "form": "plain"}),
        (
            "grpo:scale=none,keep_pos=0.5,keep_neg=0,compute_new_adv=true,missing=zero,singleton=raw",
            {
                "estimator": "grpo",
                "scale": "none",
                "keep_pos": 0.5,
                "keep_neg": 0.0,
                "compute_new_adv": True,
                "missing": "zero",
                "singleton": "raw",
            },
            {},
        ),
    ],
)
def test_spec(spec, found, knobs):
    assert parse_spec(spec) == (found, knobs)
    assert isinstance(parse_spec("grpo:ddof=0")[1]["ddof"], int)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("grpo:eps", "grpo:eps: 'eps' is not KEY=VALUE; try grpo:scale=none"),
        ("grpo:keep_pos=", "keep_pos is '', expected a number"),
        (":", "':' names no estimator; try grpo:scale=none"),
        (":eps=1", "':eps=1' names no estimator; try grpo:eps=1"),
        ("grpo:compute_new_adv=2", "compute_new_adv is '2', expected true or false"),
    ],
)
def test_wrong_spec(spec, message):
    with pytest.raises(UsageError, match=message):
        parse_spec(spec)


@pytest.mark.parametrize("spec", ["", "  "])
def test_versus_needs_a_name(spec):
    with pytest.raises(UsageError, match="--vs names no estimator"):
        versus(Settings(), spec)


def test_versus_keeps_the_rules_and_the_device():
    base = Settings("grpo", "none", {"eps": 1.0}, 0.5, 0.5, True, "zero", "raw", "cpu")
    assert versus(base, "rloo") == Settings("rloo", None, missing="zero", singleton="raw", device="cpu")
    assert versus(base, "rloo:missing=null,eps=2").missing == "null"
    assert versus(base, "rloo:missing=null,eps=2").knobs == {"eps": 2.0}


def test_discounts_of_a_configuration_are_knobs_of_the_estimators_that_have_them(tmp_path):
    # verl's configuration always holds both.
    file = tmp_path / "c.yaml"
    file.write_text("algorithm: {adv_estimator: gae, gamma: 0.99, lam: 0.95}\n")
    assert resolve({}, ColumnOptions(), config_file=file)[0].knobs == {"gamma": 0.99, "lam": 0.95}
    by_flag = resolve({"estimator": "reinforce_plus_plus:gamma=0.5"}, ColumnOptions(), config_file=file)[0]
    assert by_flag.knobs == {"gamma": 0.5}
    assert resolve({"estimator": "rloo"}, ColumnOptions(), config_file=file)[0].knobs == {}
