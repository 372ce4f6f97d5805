"""What a run knows at any moment: the evidence for statements, and its result."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from fairshapley.evaluation.evaluator import Tally
from fairshapley.fairness.evidence import Evidence
from fairshapley.results.origin import origin_fields
from fairshapley.results.records import GameFacts, RunFacts
from fairshapley.results.result import Result
from fairshapley.runs.known_coalitions import copies_with_costs, replicated_values
from fairshapley.runs.plan import versions

if TYPE_CHECKING:
    from fairshapley.runs.loop import Run


def evidence_of(run: Run) -> Evidence:
    """Return what a certificate may rest on."""
    now, tally, estimator, game = run.estimate(), run.evaluator.tally, run.plan.estimator, run.game
    traits, value_width, unseen, width = estimator.traits, game.value_width, None, None
    obstacle = "" if traits.certifiable or now.exact else traits.not_certifiable_because
    obstacle = run.noticed or obstacle
    if tally.skipped:
        obstacle = f"{tally.skipped} evaluations failed and were skipped"
    if value_width is not None and run.problem is not None:
        width = estimator.contribution_width(run.problem, value_width)
    if not now.exact:
        semivalue = run.plan.semivalue
        unseen = run.first.unseen(
            run.problem, now.values, semivalue, tally.evaluations, value_width
        )
    sampled = now.sampled or now
    errors = np.sqrt(now.variances + run.noise_variance)
    plain = np.sqrt(sampled.variances + run.noise_variance)
    if game.n_nulls:
        # The value of a declared null player is 0, so that its error is known.
        errors[-game.n_nulls :] = plain[-game.n_nulls :] = np.abs(now.values[-game.n_nulls :])
    return Evidence(
        values=now.values,
        standard_errors=errors,
        counts=now.counts,
        evaluations=tally.evaluations,
        exact=now.exact and not run.noticed,
        independent=traits.independent,
        obstacle=obstacle,
        extremes=sampled.extremes,
        skewness=sampled.skewness,
        unseen=unseen,
        contribution_width=width,
        identically_distributed=traits.iid,
        sampling_errors=None if sampled is now else plain,
        shift=None if sampled is now else np.abs(now.values - sampled.values),
        random=game.random or bool(run.noticed),
        n_nulls=game.n_nulls,
        player_names=game.player_names,
    )


def result_of(run: Run, stopped: str, *, complete: bool) -> Result:
    """Return the state of the run as a result."""
    plan, game, evaluator = run.plan, run.game, run.evaluator
    last, tally, noise = run.snapshot(), evaluator.tally, evaluator.noise
    run.recorder.keep(last.evaluations, last.evidence, plan.xi, last=True)
    evidence, replicates, ends, copies = last.evidence, None, None, game.copies
    if not complete:
        evidence = replace(evidence, obstacle=evidence.obstacle or "the run did not finish")
    if noise is not None:
        copies = ()
    elif copies:
        copies = copies_with_costs(copies, evaluator.cache, plan.semivalue, evidence)
    if run.problem is not None:
        ends = run.problem.empty, run.problem.full
        if noise is not None:
            ends = noise.ends[0].mean, noise.ends[1].mean
        if evaluator.replicates is not None:
            pairs = game.identical_players if plan.estimator.pools else ()
            replicates = replicated_values(
                evaluator.replicates, plan.semivalue, game.n_players, pairs
            )
    remarks: tuple[str, ...] = ()
    if run.state is not None and run.proven is None:
        remarks = (*plan.estimator.remarks(run.state), *(noise.remarks() if noise else ()))
    origin = origin_fields((*plan.notes, *remarks, *_trouble(tally, run.noticed)))
    notes, priced = origin.pop("notes"), evaluator.prices is not None
    told = {field.name: getattr(game, field.name) for field in fields(GameFacts)}
    return Result(
        evidence=evidence,
        game=GameFacts(**told | {"endpoints": ends, "copies": copies}),
        run=RunFacts(
            configuration=plan.configuration(),
            limits=plan.limits(),
            sequential=last.sequential,
            level_share=last.level_share if run.looked else last.unspent_share,
            skipped=tally.skipped,
            rounds=run.rounds,
            computed=tally.computed,
            cache_hits=tally.cache_hits,
            cost=tally.cost if priced else None,
            cost_unit=run.allowance.money.strip() if priced else "",
            seconds=last.seconds,
            replicates=replicates,
            versions=versions(),
            **origin,
            **run.recorder.records(),
        ),
        marginals=run.marginals,
        stopped=stopped,
        seed=run.log.seed,
        xi=plan.xi,
        complete=complete,
        notes=notes,
    )


def _trouble(tally: Tally, noticed: str) -> list[str]:
    """Return what went wrong on the way, in sentences."""
    said = {
        f"{tally.halved} batches failed, and were computed in smaller parts": tally.halved,
        f"{tally.retried:,} evaluations failed with errors that pass, and were computed again": (
            tally.retried
        ),
        f"{tally.lost} chunks were lost with workers that died or hung, and were tried again": (
            tally.lost
        ),
        f"{tally.skipped} evaluations failed and were skipped, so that the values may be biased "
        f"and cannot be certified; the first is {tally.first_failure}": tally.skipped,
        noticed: noticed,
    }
    return [sentence for sentence, happened in said.items() if happened]
