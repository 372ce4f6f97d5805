"""Passages at 60 calls: grades are right, and the error is below that of the other ways."""

import numpy as np
from benchmarks.passages import GAMES, _Table, fairshapley, kernel_shap

import fairshapley as fs


def test_grades_are_right_and_errors_small_at_60_calls():
    wrong, clear, errors = 0, 0, []
    for made in GAMES.values():
        utility = made(np.random.default_rng([0, 1]))
        truth = fs.exact(_Table(utility)).values
        result = fs.estimate(_Table(utility), budget=60, seed=0)
        helps = np.array([grade == "clearly helps" for grade in result.findings().grades])
        hurts = np.array([grade == "clearly hurts" for grade in result.findings().grades])
        least = 1e-9 * np.abs(truth).max()
        wrong += int((helps & (truth <= least)).sum() + (hurts & (truth >= -least)).sum())
        clear += int((helps | hurts).sum())
        ours, theirs = (
            np.square(way(utility, 60, np.random.default_rng(0)) - truth).mean() / np.mean(truth**2)
            for way in (fairshapley, kernel_shap)
        )
        errors.append((ours, theirs))
    assert wrong <= 0.05 * clear
    assert clear >= 10
    ours, theirs = np.sum(errors, axis=0)  # a sum: paired samples solve sums of pairs exactly
    assert ours < 0.5 * theirs
