"""Newton's method for many binary logistic regressions in one GPU kernel (Triton).

Step by step, every array of a step travels to memory and back; here a block of problems stays in
registers from its first step to its last, and only the rows, the weights and the coefficients
travel. The method is that of `newton.minimise`: full steps, taken back by half where they
overshoot. Gradients are summed in float32; the Hessian, which decides on the speed alone, may be
rounded to TF32.

Without a GPU the kernels run in Triton's interpreter (``TRITON_INTERPRET=1``), for tests.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from fairshapley.errors import GameError
from fairshapley.games.learners.arrays import Array

# For each padded width the problems of a block, the rows of a tile and the warps. The Hessians of a
# block fill the registers: 128 × 8² or 64 × 16² numbers. On an H200 102 × 6 took 128 threads to 430
# million fits a second, 300 × 12 to 40; 1000 × 32 to 1.8, which separate matrix products surpass.
SHAPES = {8: (128, 16, 4), 16: (64, 16, 4)}
MAX_STEPS = 200


@triton.jit
def _eliminate(matrices, right, pivot, PADDED: tl.constexpr):
    """Eliminate one pivot, by Gauss and Jordan, in a block of systems at once."""
    place = tl.arange(0, PADDED)
    here = place[None, :] == pivot
    pivot_row = tl.sum(tl.where(place[None, :, None] == pivot, matrices, 0.0), axis=1)
    pivot_column = tl.sum(tl.where(place[None, None, :] == pivot, matrices, 0.0), axis=2)
    value = tl.sum(tl.where(here, pivot_row, 0.0), axis=1)
    target = tl.sum(tl.where(here, right, 0.0), axis=1)
    factor = tl.where(here, 0.0, pivot_column / value[:, None])
    matrices -= factor[:, :, None] * pivot_row[:, None, :]
    right -= factor * target[:, None]
    return matrices, right


@triton.jit
def _solve_spd(matrices, right, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    """Solve systems that need no pivoting; unrolled, narrow ones are twice as fast."""
    if PADDED <= 8:
        for pivot in tl.static_range(WIDTH):
            matrices, right = _eliminate(matrices, right, pivot, PADDED)
    else:
        for pivot in range(WIDTH):
            matrices, right = _eliminate(matrices, right, pivot, PADDED)
    place = tl.arange(0, PADDED)
    diagonal = place[None, :, None] == place[None, None, :]
    return right / tl.sum(tl.where(diagonal, matrices, 0.0), axis=2)


@triton.jit
def _minimise(
    rows,
    products,
    weights,
    penalties,
    solution,
    unfinished,
    n_rows,
    n_sets,
    tolerance,
    max_steps,
    WIDTH: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
):
    sets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = sets < n_sets
    place = tl.arange(0, PADDED)
    flat = tl.arange(0, PADDED * PADDED)
    penalty = tl.load(penalties + place, mask=place < WIDTH, other=1.0)
    # A unit penalty beyond the width, and for sets beyond the last, keeps their systems regular.
    unit = tl.where(place[:, None] == place[None, :], 1.0, 0.0)
    ridge = unit * penalty[:, None]
    beyond = tl.where(inside, 0.0, 1.0)
    beta = tl.zeros([BLOCK, PADDED], tl.float32)
    direction = tl.zeros([BLOCK, PADDED], tl.float32)
    slope = tl.zeros([BLOCK], tl.float32)
    still = inside
    step_number = 0
    left = 1
    while (left > 0) & (step_number < max_steps):
        gradient = beta * penalty[None, :]
        hessian = tl.zeros([BLOCK, PADDED * PADDED], tl.float32)
        start = 0
        while start < n_rows:
            row = start + tl.arange(0, TILE)
            valid = row < n_rows
            weight = tl.load(
                weights + row[None, :].to(tl.int64) * n_sets + sets[:, None],
                mask=valid[None, :] & inside[:, None],
                other=0.0,
            ).to(tl.float32)
            feature = tl.load(
                rows + row[:, None] * PADDED + place[None, :], mask=valid[:, None], other=0.0
            )
            if PADDED >= 16:
                margin = tl.dot(beta, tl.trans(feature), input_precision="tf32x3")
            else:
                # Too narrow for the matrix units: one column after the other.
                margin = tl.zeros([BLOCK, TILE], tl.float32)
                for one in tl.static_range(WIDTH):
                    coefficient = tl.sum(tl.where(place[None, :] == one, beta, 0.0), axis=1)
                    values = tl.load(rows + row * PADDED + one, mask=valid, other=0.0)
                    margin += coefficient[:, None] * values[None, :]
            # The probability of the wrong class; the sign of the label is in the row.
            wrong = 1.0 / (1.0 + tl.exp(margin))
            pull = weight * wrong
            if PADDED >= 16:
                gradient -= tl.dot(pull, feature, input_precision="tf32x3")
            else:
                for one in tl.static_range(WIDTH):
                    values = tl.load(rows + row * PADDED + one, mask=valid, other=0.0)
                    amount = tl.sum(pull * values[None, :], axis=1)
                    gradient -= tl.where(place[None, :] == one, amount[:, None], 0.0)
            product = tl.load(
                products + row[:, None] * (PADDED * PADDED) + flat[None, :],
                mask=valid[:, None],
                other=0.0,
            )
            hessian += tl.dot(pull * (1.0 - wrong), product, input_precision="tf32")
            start += TILE
        matrices = tl.reshape(hessian, (BLOCK, PADDED, PADDED)) + ridge[None, :, :]
        matrices += beyond[:, None, None] * unit[None, :, :]
        forward = -_solve_spd(matrices, gradient, WIDTH, PADDED)
        back = tl.sum(direction * gradient, axis=1) > -0.5 * slope
        step = tl.where(back[:, None], -0.5 * direction, forward)
        direction = tl.where(back[:, None], 0.5 * direction, forward)
        slope = tl.where(back, 0.5 * slope, tl.sum(forward * gradient, axis=1))
        beta += tl.where(still[:, None], step, 0.0)
        size = tl.max(tl.abs(step), axis=1)
        scale = 1.0 + tl.max(tl.abs(beta), axis=1)
        still = still & (back | (size > tolerance * scale))
        left = tl.sum(still.to(tl.int32), axis=0)
        step_number += 1
    tl.store(
        solution + sets[:, None].to(tl.int64) * WIDTH + place[None, :],
        beta,
        mask=inside[:, None] & (place[None, :] < WIDTH),
    )
    tl.store(unfinished + tl.program_id(0), left)


def minimise_binary(signed: Array, weights: Array, penalties: Array) -> Array:
    """Return the coefficients (sets, columns) of binary logistic regressions.

    Parameters
    ----------
    signed
        The rows times the sign of their class, (rows, columns), float32, at most 16 columns.
    weights
        How much each row counts in each set, (rows, sets), of any type.
    penalties
        Of the squares of the coefficients, (columns,).

    Raises
    ------
    GameError
        When some problem is not done after 200 steps.
    """
    import torch

    n_rows, width = signed.shape
    n_sets = weights.shape[1]
    padded = max(8, triton.next_power_of_2(width))
    block, tile, warps = SHAPES[padded]
    rows = torch.zeros(n_rows, padded, dtype=torch.float32, device=signed.device)
    rows[:, :width] = signed
    products = (rows[:, :, None] * rows[:, None, :]).reshape(n_rows, -1).contiguous()
    solution = torch.empty(n_sets, width, dtype=torch.float32, device=signed.device)
    programs = triton.cdiv(n_sets, block)
    unfinished = torch.empty(programs, dtype=torch.int32, device=signed.device)
    launch: Any = _minimise[(programs,)]
    launch(
        rows,
        products,
        weights.contiguous(),
        penalties.contiguous(),
        solution,
        unfinished,
        n_rows,
        n_sets,
        1e-4,
        MAX_STEPS,
        WIDTH=width,
        PADDED=padded,
        BLOCK=block,
        TILE=tile,
        num_warps=warps,
    )
    if bool(unfinished.any()):
        raise GameError(
            f"{int(unfinished.sum())} fits did not converge in {MAX_STEPS} Newton steps: scale the "
            "features, use dtype='float64', or fit one coalition at a time (vectorised=False)"
        )
    return solution
