"""Agreement against plain loops, and every interval by simulation."""

import numpy as np
import pytest
from scipy import stats

from advcli.stats.inference.agreement import confusion, icc, noise, rate, tables

DRAW = np.random.default_rng(8)


def test_the_tables_of_each_part():
    a, b, of = DRAW.random(200) < 0.4, DRAW.random(200) < 0.5, DRAW.integers(0, 5, 200)
    found = tables(a, b, of, 6)
    for part in range(6):
        rows = [(x, y) for x, y, at in zip(a, b, of, strict=True) if at == part]
        kinds = [(True, True), (True, False), (False, True), (False, False)]
        assert found[part].tolist() == [sum(row == kind for row in rows) for kind in kinds]


def test_kappa_by_hand():
    # Wikipedia's first example: agreement 0.7, by chance 0.5.
    found = confusion("all", (20, 5, 10, 15))
    assert found.kappa.share == pytest.approx(0.4)
    assert found.rows == 50
    assert np.isnan(confusion("all", (9, 0, 0, 0)).kappa.share)
    assert np.isnan(confusion("all", (0, 0, 0, 0)).kappa.share)
    assert confusion("all", (5, 0, 0, 5)).kappa.share == 1


@pytest.mark.parametrize(("counts", "kappa"), [((5, 0, 0, 5), 1.0), ((6, 0, 4, 0), 0.0), ((3, 7, 0, 0), 0.0)])
def test_kappa_has_no_interval_where_its_standard_error_is_0(counts, kappa):
    result = confusion("all", counts).kappa
    assert result.share == pytest.approx(kappa)
    assert np.isnan([result.low, result.high]).all()


def test_the_interval_of_kappa_covers():
    chances = np.array([0.35, 0.1, 0.05, 0.5])
    truth = (0.85 - (0.45 * 0.4 + 0.55 * 0.6)) / (1 - (0.45 * 0.4 + 0.55 * 0.6))
    found = [confusion("", tuple(one)).kappa for one in DRAW.multinomial(400, chances, 1000)]
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.93


def test_the_intraclass_correlation_is_that_of_an_analysis_of_variance():
    a, b = DRAW.normal(5, 2, 40), DRAW.normal(5, 2, 40)
    b = (a + b) / 2
    pairs = list(zip(a, b, strict=True))
    every = [value for pair in pairs for value in pair]
    middle = sum(every) / len(every)
    between = sum(2 * ((x + y) / 2 - middle) ** 2 for x, y in pairs) / (len(pairs) - 1)
    within = sum((x - (x + y) / 2) ** 2 + (y - (x + y) / 2) ** 2 for x, y in pairs) / len(pairs)
    # The F of scipy is between / within.
    assert stats.f_oneway(*pairs).statistic == pytest.approx(between / within)
    found = icc(a, b, np.repeat(np.arange(10), 4))
    assert found.share == pytest.approx((between - within) / (between + within))
    assert found.low < found.share < found.high


def test_the_intraclass_correlation_at_its_ends():
    one, codes = np.array([0.0, 1.0, 0.0, 1.0]), np.arange(4)
    same = icc(one, one, codes)
    assert (same.share, np.isnan(same.low)) == (1, True)
    assert icc(one, 1 - one, codes).share == -1
    assert np.isnan(icc(np.ones(4), np.ones(4), codes).share)
    assert np.isnan(icc(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)).share)


@pytest.mark.parametrize(("prompts", "rows"), [(10, 8), (40, 4)])
def test_the_interval_of_the_intraclass_correlation_covers(prompts, rows):
    """Prompts differ as much as the rows of a prompt, and each reading is off by half as much: ICC 2 / 2.5."""
    inside, code = [], np.repeat(np.arange(prompts), rows)
    for _ in range(500):
        truth = DRAW.normal(size=prompts)[code] + DRAW.normal(size=len(code))
        read = (truth + DRAW.normal(0, 0.5**0.5, len(code)) for _ in range(2))
        found = icc(*read, code)
        inside.append(found.low <= 0.8 <= found.high)
    assert np.mean(inside) >= 0.93


@pytest.mark.parametrize(("hits", "rows"), [(0, 10), (3, 10), (10, 10), (40, 900)])
def test_a_rate_is_that_of_wilson_with_correction(hits, rows):
    found = rate(hits, rows)
    known = stats.binomtest(hits, rows).proportion_ci(method="wilsoncc")
    assert found.share == pytest.approx(hits / rows, abs=1e-9)
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-9)


def test_planted_false_negatives_and_positives_lie_in_the_interval():
    inside = []
    for _ in range(400):
        planted = DRAW.uniform(0.01, 0.2)
        truth = DRAW.random(300) < 0.5
        said = truth ^ (DRAW.random(300) < planted)
        lost, found = (
            rate(int((truth & ~said).sum()), int(truth.sum())),
            rate(int((~truth & said).sum()), int((~truth).sum())),
        )
        inside += [one.low <= planted <= one.high for one in (lost, found)]
    assert np.mean(inside) >= 0.95


def test_the_noise_that_makes_groups_live_lies_in_the_interval():
    inside = []
    for _ in range(400):
        planted, sizes = DRAW.uniform(0.01, 0.2), DRAW.choice([4, 8], 80)
        flips = DRAW.binomial(sizes, planted)
        found = noise(int(((flips > 0) & (flips < sizes)).sum()), sizes)
        inside.append(found.low <= planted <= found.high)
    assert np.mean(inside) >= 0.95


def test_noise_by_hand():
    # Two rows: 1 − (1 − e)² − e² = 2 e (1 − e) = 0.32 at e = 0.2.
    assert noise(32, np.full(100, 2)).share == pytest.approx(0.2)
    assert noise(0, np.full(100, 8)).share == noise(0, np.full(100, 8)).low == 0
    assert np.isnan(noise(0, np.empty(0, dtype=np.int64)).share)
    assert noise(100, np.full(100, 8)).high == 0.5
