#!/usr/bin/env python3
"""Writes tests/data/goldens/statistics/statistics.json with the results of scipy and statsmodels.

Environment: python3 -m venv /tmp/venv && /tmp/venv/bin/pip install scipy statsmodels
"""

import json
import math
import pathlib

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

TARGET = pathlib.Path(__file__).parents[1] / "tests/data/goldens/statistics/statistics.json"


def wilson():
    cases = [(0, 1), (1, 1), (0, 20), (20, 20), (13, 20), (1, 50), (499, 500), (7, 9)]
    return [[k, n, *proportion_confint(k, n, 0.05, "wilson")] for k, n in cases]


def t_quantiles():
    return [[p, df, stats.t.ppf(p, df)] for p in (0.6, 0.975, 0.999) for df in (1, 2, 4.5, 19, 200)]


def beta():
    cases = [(0.5, 0.5, 0.3), (2, 3, 0.9), (50, 0.5, 0.999), (10, 200, 0.04), (1, 1, 0.25)]
    return [[a, b, x, scipy.special.betainc(a, b, x)] for a, b, x in cases]


def means(random):
    rows = []
    for n in (2, 5, 20, 100):
        values = random.beta(2, 1, n).round(4)
        low, high = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
        rows.append({"values": values.tolist(), "mean": values.mean(), "low": low, "high": high})
    return rows


def mcnemar_cases():
    tables = [(36, 12, 2, 0), (10, 0, 0, 5), (3, 9, 1, 7), (40, 5, 5, 0), (0, 0, 8, 12), (100, 30, 11, 59)]
    rows = []
    for both, only_b, only_a, neither in tables:
        p = mcnemar([[both, only_a], [only_b, neither]], exact=True).pvalue
        rows.append([both, only_b, only_a, neither, p])
    return rows


def newcombe():
    """Method 10 of R. G. Newcombe, Improved confidence intervals for the difference between binomial
    proportions based on paired data, Statistics in Medicine 17 (1998), written a second time here."""
    rows = []
    for both, only_b, only_a, neither, _ in mcnemar_cases():
        n = both + only_b + only_a + neither
        p1, p2 = (both + only_b) / n, (both + only_a) / n
        (l1, u1), (l2, u2) = (proportion_confint(round(p * n), n, 0.05, "wilson") for p in (p1, p2))
        margins = (both + only_b) * (only_a + neither) * (both + only_a) * (only_b + neither)
        bc = both * neither - only_b * only_a
        phi = 0 if margins == 0 else (max(bc - n / 2, 0) if bc > 0 else bc) / math.sqrt(margins)
        delta = math.sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
        epsilon = math.sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
        rows.append([both, only_b, only_a, neither, p1 - p2 - delta, p1 - p2 + epsilon])
    return rows


def permutation(random):
    rows = []
    for n, shift in ((3, 0.1), (8, 0.2), (14, 0.05), (40, 0.05), (60, 0.12)):
        differences = (random.normal(shift, 0.3, n)).round(3)
        exact = n <= 16
        test = stats.permutation_test(
            (differences,), lambda d: abs(d.sum()), permutation_type="samples", alternative="greater",
            n_resamples=np.inf if exact else 400_000, rng=np.random.default_rng(5), batch=10_000)
        box = stats.bootstrap((differences,), np.mean, method="percentile", n_resamples=100_000,
                              rng=np.random.default_rng(6), batch=10_000).confidence_interval
        rows.append({"differences": differences.tolist(), "exact": exact, "p": test.pvalue,
                     "low": box.low, "high": box.high})
    return rows


def holm():
    families = [[0.01, 0.04, 0.03, 0.005], [0.2], [0.5, 0.9, 0.0001, 0.02, 0.02], [0.04, 0.04]]
    return [{"p": p, "adjusted": multipletests(p, method="holm")[1].tolist()} for p in families]


def main():
    random = np.random.default_rng(20261121)
    document = {
        "made_with": f"scipy {scipy.__version__}, statsmodels {statsmodels.__version__}",
        "wilson": wilson(),  # successes, n, low, high
        "t_quantile": t_quantiles(),  # p, degrees, t
        "incomplete_beta": beta(),  # a, b, x, value
        "mean_t_interval": means(random),
        "mcnemar": mcnemar_cases(),  # both, only b, only a, neither, p
        "newcombe": newcombe(),  # both, only b, only a, neither, low, high
        "sign_flip": permutation(random),
        "holm": holm(),
    }
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(document, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
