"""What the referee found: RESULTS.md, a CSV of all numbers, two pictures, parts of the docs."""

from __future__ import annotations

import csv
import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

import fairshapley as fs
from benchmarks.referee import pictures
from benchmarks.referee.games import OTHERS, TABLES, Family, RefereeGame
from benchmarks.referee.methods import DEFAULT, PEERS, Method, methods
from benchmarks.referee.pages import comparison, put, which_method
from benchmarks.referee.runner import KEPT
from benchmarks.referee.scores import (
    ALL,
    ENOUGH_TO_AUDIT,
    Audit,
    Board,
    Control,
    Score,
    audits,
    collect,
    controls,
    overall,
    scores,
)
from benchmarks.referee.wording import (
    CLOSE,
    at,
    best_of,
    budgets_of,
    everybody,
    factor,
    is_close,
    names_of,
    of_default,
    per,
    table,
)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COLUMNS = (
    *("family", "per_player", "method", "runs", "mse"),
    *("ratio", "low", "high", "p_holm", "spent", "seconds"),
)


def main(families: Sequence[Family], *, kept: Path = KEPT, root: Path = ROOT) -> None:
    """Write all of it from the runs that are kept."""
    known = methods()
    board, games = collect(families, known, kept=kept)
    found = scores(board)
    part = {family.name: family.part for family in families}
    title = {ALL: "all tables"} | {family.name: family.title for family in families}
    tables = [one for one in found if part[one.family] == TABLES]
    others = [one for one in found if part[one.family] == OTHERS]
    everywhere = overall(tables)
    checks = controls(board)
    target = root / HERE.relative_to(ROOT)
    pictures.tables(everywhere, target / "tables.png")
    pictures.headline(everywhere, root / "docs" / "images" / "errors.png")
    pictures.others(others, title, target / "others.png")
    sections = [
        _head(),
        _controls(checks),
        *(_tables_sections(tables, everywhere, known, title) if tables else ()),
        *(_others_sections(others, known, title) if others else ()),
        _audits(audits(board, games)),
        _truths(
            [played for name in games for played in games[name] if part[name] == OTHERS], title
        ),
        _left_out(_reasons(board)),
    ]
    text = "\n\n".join(section for section in sections if section)
    (target / "RESULTS.md").write_text(text + "\n", encoding="utf-8")
    print(f"{_controls(checks)}\n\n{_by_method(everywhere, known)}")
    _write_csv(found, target / "results.csv")
    put(root / "docs" / "methods.md", which_method(found, known, title))
    put(root / "docs" / "comparison.md", comparison(everywhere, others, known, title))


def _head() -> str:
    peers = ", ".join(peer.requirements[0].replace("==", " ") for peer in PEERS)
    others = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    own = f"fairshapley {fs.__version__}, {others}"
    return f"""# The referee

Every method on every game at the same number of distinct utility evaluations (v(∅) and v(N)
included), counted by the game, with the same seeds. Errors are mean squared errors over players
divided by the mean φ²; of several games and runs the geometric mean. Ratios are to `{DEFAULT}`,
what a user gets who names no method, on the same games and seeds, with 95 % intervals (t, of
logarithms, over seeds): below 1 is better than the default. Verdicts, in **bold**, are at 5 % after
Holm's correction for all comparisons at a budget. Budgets above half of all coalitions are left
out. No method is told which players are identical. The peers run their own code in environments of
their own ({peers}).

`python -m benchmarks.referee run`, then `python -m benchmarks.referee report`; all numbers are in
`benchmarks/referee/results.csv`.
{own}, Python {platform.python_version()}, {platform.machine()}."""


def _controls(found: Sequence[Control]) -> str:
    if not found:
        return ""
    rows = [
        (
            one.what,
            factor(one.ratio),
            f"{one.p_value:.2g}" if one.p_value > 1e-6 else "< 1e-6",
            "a difference" if one.expected else "none",
            "passed" if one.passed else "**failed**",
        )
        for one in found
    ]
    return (
        "## Controls\n\nComparisons whose outcome is known, over all games and budgets.\n\n"
        + table(("what is compared with the default", "ratio", "p", "to be found", ""), rows)
    )


def _verdict(one: Score | None) -> str:
    """A method and its ratio, bold when the difference to the default is significant."""
    if one is None:
        return ""
    if one.ratio is None:
        return one.method
    mark = "**" if one.better or one.worse else ""
    return f"{one.method} {mark}{factor(one.ratio)}{mark}"


def _tables_sections(
    found: Sequence[Score],
    everywhere: Sequence[Score],
    known: Mapping[str, Method],
    title: Mapping[str, str],
) -> list[str]:
    return [
        "## Tables with every utility known\n\n"
        f"Geometric means over {len({one.family for one in found})} families.\n\n"
        "![Errors on the tables](tables.png)\n\n" + _by_method(everywhere, known),
        "### Where the default stands on the tables\n\n" + _standing(found, known, title),
        "### Family by family, the best other method\n\n"
        + _by_family(found, title, everybody(known)),
        "### Family by family, the best of shapiq\n\n"
        + _by_family(found, title, names_of(known, "shapiq"), error=True),
    ]


def _others_sections(
    found: Sequence[Score], known: Mapping[str, Method], title: Mapping[str, str]
) -> list[str]:
    return [
        "## Games of other kinds\n\n![Errors on games of other kinds](others.png)\n\n"
        "The best other method, ours in other forms included.\n\n"
        + _by_family(found, title, everybody(known)),
        "### Where the default stands on them\n\n" + _standing(found, known, title),
        "### The best of the peers\n\n"
        + _by_family(found, title, names_of(known, "shapiq", "pydvl"), error=True),
    ]


def _by_method(everywhere: Sequence[Score], known: Mapping[str, Method]) -> str:
    """The means over all families, a row for each method."""
    budgets = budgets_of(everywhere)
    most = {budget: max(one.families for one in at(everywhere, budget)) for budget in budgets}
    rows = []
    for name in known:
        own = {one.per_player: one for one in everywhere if one.method == name}
        cells = [
            f"{one.mse:.2e}"
            + (f", × {factor(one.ratio)}" if one.ratio else "")
            + (f" ({one.families} families)" if one.families < most[budget] else "")
            if (one := own.get(budget)) is not None
            else ""
            for budget in budgets
        ]
        if own:
            rows.append((name, *cells))
    return table(("method", *(f"{per(budget)} per player" for budget in budgets)), rows)


def _standing(found: Sequence[Score], known: Mapping[str, Method], title: Mapping[str, str]) -> str:
    """Where the default is as good as the best, where it is not, and whether that is luck."""
    rows = []
    for budget in budgets_of(found):
        here = at(found, budget)
        families = [one.family for one in here if one.method == DEFAULT]
        apart = [name for name in families if not is_close(at(here, budget, name))]
        bests = [(name, best_of(at(here, budget, name), everybody(known))) for name in apart]
        behind = {one.family for one in here if one.better}
        rows.append(
            (
                per(budget),
                f"{len(families) - len(apart)} of {len(families)}",
                "; ".join(f"{title[name]}: {_verdict(best)}" for name, best in bests) or "none",
                str(len(behind)),
            )
        )
    text = (
        f"*Close*: within {CLOSE} × of the best of all methods. *Behind*: on how many some method "
        "is significantly better.\n\n"
    )
    return text + table(("per player", "close", "not close, with the best method", "behind"), rows)


def _by_family(
    found: Sequence[Score], title: Mapping[str, str], names: Sequence[str], *, error: bool = False
) -> str:
    """The default's error and the best of others, or the error of these alone."""
    budgets = budgets_of(found)
    rows = []
    for family in dict.fromkeys(one.family for one in found):
        cells = []
        for budget in budgets:
            here = at(found, budget, family)
            own, best = of_default(here), best_of(here, names)
            start = best if error else own
            cells.append(f"{start.mse:.2e}; {_verdict(best)}".rstrip("; ") if start else "")
        rows.append((title[family], *cells))
    return table(("game", *(f"{per(budget)} per player" for budget in budgets)), rows)


def _audits(found: Sequence[Audit]) -> str:
    if not found:
        return ""
    rows = []
    for game, budget in dict.fromkeys((one.game, one.per_player) for one in found):
        here = [one for one in found if (one.game, one.per_player) == (game, budget)]
        own = next((one for one in here if one.method == DEFAULT), None)
        rest = [one for one in here if one.method != DEFAULT]
        best = max(rest, key=lambda one: one.fidelity.mean, default=None)
        better = [one.method for one in rest if one.better]
        rows.append(
            (
                game,
                per(budget),
                _fidelity(own),
                f"{best.method} {_fidelity(best)}" if best else "",
                factor(best.ratio) if best and best.ratio else "",
                ", ".join(better) or "nobody",
            )
        )
    return (
        "## Minimum fidelity, audited\n\n"
        "min (|φ_i| + ξ)²/MSE_i at ξ = a tenth of the mean |φ|, of games with "
        f"{ENOUGH_TO_AUDIT} repeats or more, with 95 % bootstrap intervals; *ratio*: the other's "
        "over the default's, above 1 is better than the default.\n\n"
        + table(
            ("game", "per player", "default", "best other", "ratio", "significantly better"), rows
        )
    )


def _fidelity(one: Audit | None) -> str:
    if one is None:
        return ""
    return f"{factor(one.fidelity)}, {one.repeats} repeats"


def _truths(games: Sequence[RefereeGame], title: Mapping[str, str]) -> str:
    """Where the truths come from, and how well they are known."""
    if not games:
        return ""
    rows = [
        (title[one.name], one.source, f"{one.truth_mse:.1e}" if one.truth_mse else "exact")
        for one in games
    ]
    text = "## Truths of the games of other kinds\n\n"
    return text + table(("game", "from", "its own MSE / mean φ²"), rows)


def _reasons(board: Board) -> dict[str, dict[str, int]]:
    """Who was left out, why, and of how many families and budgets."""
    reasons: dict[str, dict[str, int]] = {}
    for trials in board.values():
        for name, one in trials.items():
            if reason := one.left_out:
                # Numbers differ from game to game; a trace of native code says nothing.
                native = "[bt]" in reason
                short = "an error in native code" if native else re.sub(r"\d[\d.,]*", "…", reason)
                counts = reasons.setdefault(name, {})
                counts[short] = counts.get(short, 0) + 1
    return reasons


def _left_out(reasons: dict[str, dict[str, int]]) -> str:
    if not reasons:
        return ""
    rows = [
        (name, reason.replace("|", "/")[:120], str(count))
        for name, counts in reasons.items()
        for reason, count in counts.items()
    ]
    return "## Left out\n\n" + table(("method", "why", "families and budgets"), rows)


def _write_csv(found: Sequence[Score], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for one in found:
            ends = (
                [one.ratio.mean, *one.ratio.interval()] if one.ratio is not None else [np.nan] * 3
            )
            numbers = [one.mse, *np.exp(ends), one.p_value, one.spent, one.seconds]
            writer.writerow(
                [one.family, one.per_player, one.method, one.runs, *(f"{x:.4g}" for x in numbers)]
            )
