"""What a run knows at any moment: the evidence for statements, and its result."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import ByteArray, FloatArray, FloatMatrix
from fairshapley.draws import Draw
from fairshapley.estimators import Problem
from fairshapley.evaluation.evaluator import Tally
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.unseen import find_unseen
from fairshapley.results.origin import origin_fields
from fairshapley.results.records import GameFacts, RunFacts
from fairshapley.results.result import Result
from fairshapley.runs.known_coalitions import copies_with_costs, replicated_values
from fairshapley.runs.plan import versions
from fairshapley.semivalues import Semivalue

if TYPE_CHECKING:
    from fairshapley.runs.loop import Run

# Coalitions that are looked at for what others may hide.
MOST_LOOKED_AT = 20_000
# Nor more than 16 MiB of masks, above 838 players.
LOOKED_AT_ENTRIES = 1 << 24


class FirstCoalitions:
    """The first coalitions of a run with their utilities, which show what others may hide."""

    def __init__(self, n_players: int, n_active: int) -> None:
        self._most, self._n_active = min(MOST_LOOKED_AT, LOOKED_AT_ENTRIES // n_players), n_active
        self._parts: list[tuple[ByteArray, FloatArray]] = []
        self._told = 0

    def add(self, draw: Draw, values: Any) -> None:
        """Keep the coalitions of a round, as long as there is room."""
        start, stop = self._told, min(self._most, self._told + len(draw))
        self._told += len(draw)
        if start < stop:
            masks = draw.masks(0, stop - start)[:, : self._n_active]
            told = values if isinstance(values, np.ndarray) else values.cpu().numpy()
            self._parts.append((bits.pack(masks), told[: stop - start]))

    def unseen(
        self,
        problem: Problem | None,
        values: FloatArray,
        semivalue: Semivalue,
        evaluations: int,
        width: float | None,
    ) -> FloatMatrix | None:
        """Return what the coalitions that were not drawn may hide; None where nothing is known."""
        if problem is None or not self._parts or self._n_active < 2 or np.isnan(values).any():
            return None
        packed, told = map(np.concatenate, zip(*self._parts, strict=True))
        packed, first = np.unique(packed, axis=0, return_index=True)
        masks, utilities = bits.unpack(packed, self._n_active), told[first]
        sizes = masks.sum(axis=1)
        inner = (sizes > 0) & (sizes < self._n_active) & ~np.isnan(utilities)
        if not inner.any():
            return None
        return find_unseen(
            masks[inner],
            utilities[inner],
            (problem.empty, problem.full),
            values[: self._n_active],
            semivalue.weights(self._n_active),
            thinning=max(1.0, evaluations / len(packed)),
            width=width,
        )


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
    errors = np.sqrt(now.variances)
    if game.n_nulls:
        # The value of a declared null player is 0, so that its error is known.
        errors[-game.n_nulls :] = np.abs(now.values[-game.n_nulls :])
    return Evidence(
        values=now.values,
        standard_errors=errors,
        counts=now.counts,
        evaluations=tally.evaluations,
        exact=now.exact,
        independent=traits.independent,
        obstacle=obstacle,
        extremes=now.extremes,
        skewness=now.skewness,
        unseen=unseen,
        contribution_width=width,
        identically_distributed=traits.iid,
        modelled=now.modelled,
        random=game.random,
        n_nulls=game.n_nulls,
        player_names=game.player_names,
    )


def result_of(run: Run, stopped: str, *, complete: bool) -> Result:
    """Return the state of the run as a result."""
    plan, game, evaluator = run.plan, run.game, run.evaluator
    last, tally, noise, prices = run.snapshot(), evaluator.tally, evaluator.noise, evaluator.prices
    run.recorder.keep(last.evaluations, last.evidence, plan.xi, last=True)
    evidence, copies, replicates, ends = last.evidence, game.copies, None, None
    if not complete:
        evidence = replace(evidence, obstacle=evidence.obstacle or "the run did not finish")
    if copies and noise is None:
        copies = copies_with_costs(copies, evaluator.cache, plan.semivalue, evidence)
    if run.problem is not None:
        ends = run.problem.empty, run.problem.full
        if noise is not None:
            ends = noise.ends[0].mean, noise.ends[1].mean
        if evaluator.replicates is not None:
            identical = game.identical_players if plan.estimator.pools else ()
            replicates = replicated_values(
                evaluator.replicates, plan.semivalue, game.n_players, identical
            )
    origin = origin_fields((*plan.notes, *_remarks(run), *_trouble(tally, run.noticed)))
    notes = origin.pop("notes")
    told = {field.name: getattr(game, field.name) for field in fields(GameFacts)}
    return Result(
        evidence=evidence,
        game=GameFacts(**told | {"endpoints": ends, "copies": () if noise else copies}),
        run=RunFacts(
            configuration=plan.configuration(),
            limits=plan.limits(),
            sequential=last.sequential,
            level_share=last.level_share if run.looked else last.unspent_share,
            skipped=tally.skipped,
            rounds=run.rounds,
            computed=tally.computed,
            cache_hits=tally.cache_hits,
            cost=None if prices is None else tally.cost,
            cost_unit="" if prices is None else run.allowance.money.strip(),
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


def _remarks(run: Run) -> tuple[str, ...]:
    """Return what the method and the noise of a random utility have to say."""
    if run.state is None or run.proven is not None:
        return ()
    estimator, noise = run.plan.estimator, run.evaluator.noise
    remarks = estimator.remarks(run.state)
    if noise is None:
        return remarks
    share, total = None, float(np.mean(run.found().variances))
    each = None if noise.same_seed else estimator.noise_share(run.state)
    if each is not None and total > 0:
        share = min(1.0, (each * noise.variance + noise.correction()[1]) / total)
    return (*remarks, *noise.remarks(share))


def _trouble(tally: Tally, noticed: str) -> list[str]:
    """Return what went wrong on the way, in sentences."""
    failed = (
        f"{tally.skipped} evaluations failed and were skipped, so that the values may be "
        f"biased and cannot be certified; the first is {tally.first_failure}"
    )
    said = [
        (tally.halved, f"{tally.halved} batches failed, and were computed in smaller parts"),
        (
            tally.retried,
            f"{tally.retried:,} evaluations failed with errors that pass, and were computed again",
        ),
        (
            tally.lost,
            f"{tally.lost} chunks were lost with workers that died or hung, and were tried again",
        ),
        (tally.skipped, failed),
        (noticed, noticed),
    ]
    return [sentence for happened, sentence in said if happened]
