"""The two objectives of logistic regression, for many sets of rows at once.

Each gives the derivatives that `newton.minimise` asks for; sets are the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from fairshapley.games.learners.arrays import Array
from fairshapley.games.learners.designs import Products


@dataclass(frozen=True, eq=False)
class BinaryLoss:
    """Σ_i c_i log(1 + e^{−u_i}) + Σ_j r_j w_j²/2 with u = X w, the rows of X signed by class.

    Attributes
    ----------
    xp
        The namespace of the arrays.
    signed, products
        The columns of the rows, times −1 for one class, and their products.
    penalties
        r_j, shape (columns, 1).
    weights
        c_i of each set, 0 for rows that it does not hold, shape (rows, sets).
    """

    xp: Any
    signed: Array
    products: Products
    penalties: Array
    weights: Array

    def margins(self, parameters: Array) -> Array:
        """The u_i, shape (rows, sets)."""
        return self.signed @ parameters

    def derivatives(self, margins: Array, parameters: Array) -> tuple[Array, Array]:
        """The gradients and the Hessians; see `newton.Objective`."""
        # 1/(1+e^u), not 1 − 1/(1+e^−u): what is left of a row that is told apart well stays exact.
        wrong = 1.0 / (1.0 + self.xp.exp(margins))
        pull = self.weights * wrong
        gradient = self.penalties * parameters - self.signed.T @ pull
        return gradient, self.products.sums(pull - pull * wrong, self.penalties, coarse=True)

    def take(self, columns: Array) -> Self:
        """The objectives of some of the sets."""
        return replace(self, weights=self.weights[:, columns])


@dataclass(frozen=True, eq=False)
class MultinomialLoss:
    """Σ_i c_i (log Σ_k e^{z_ik} − z_{i,y_i}) + Σ_kj r_j w_kj²/2 with z_k = X w_k.

    Adding one number to the coefficients of all classes changes no probability; only the penalty
    holds it, weakly, or for an intercept nothing does. So half the square of Σ_k w_kj is added:
    it is 0 at the minimum. Classes that a set does not hold have probability and coefficients 0.

    Attributes
    ----------
    xp
        The namespace of the arrays.
    train, products
        The columns of the rows, and their products.
    penalties
        r_j, shape (columns, 1).
    indicator
        1 for a row's class, shape (classes, rows, 1).
    weights, present
        c_i of each set, shape (rows, sets), and which classes it holds, (classes, sets).
    """

    xp: Any
    train: Array
    products: Products
    penalties: Array
    indicator: Array
    weights: Array
    present: Array

    def margins(self, parameters: Array) -> Array:
        """The z_ik, shape (classes, rows, sets)."""
        shape = (self.indicator.shape[0], self.train.shape[1], -1)
        return self.train @ self.xp.reshape(parameters, shape)

    def derivatives(self, margins: Array, parameters: Array) -> tuple[Array, Array]:
        """The gradients and the Hessians; see `newton.Objective`."""
        xp = self.xp
        n_classes, width = self.indicator.shape[0], self.train.shape[1]
        margins = xp.where(self.present[:, None, :], margins, -xp.inf)
        odds = xp.exp(margins - xp.max(margins, axis=0, keepdims=True))
        chances = odds / xp.sum(odds, axis=0, keepdims=True)
        # Not 1 − the chance of the row's class: the others are small and stay exact.
        others = chances * (1.0 - self.indicator)
        wrong = xp.sum(others, axis=0, keepdims=True)
        pull = self.weights * (others - self.indicator * wrong)
        held = self._held()
        coefficients = xp.reshape(parameters, (n_classes, width, -1))
        gradient = self.train.T @ pull + self.penalties * coefficients
        gradient = gradient + xp.sum(held[:, :, None, :] * coefficients, axis=1)
        return xp.reshape(gradient, (n_classes * width, -1)), self._hessian(chances, held)

    def take(self, columns: Array) -> Self:
        """The objectives of some of the sets."""
        return replace(self, weights=self.weights[:, columns], present=self.present[:, columns])

    def _held(self) -> Array:
        """The Hessian of ½ (Σ_k w_k)² over a set's classes and ½ w_k² for each other class."""
        present = self.xp.astype(self.present, self.weights.dtype)
        eye = self.xp.eye(present.shape[0], dtype=present.dtype, device=present.device)
        return present[:, None, :] * present + eye[:, :, None] * (1.0 - present)

    def _hessian(self, chances: Array, held: Array) -> Array:
        """The second derivatives, shape (classes · columns, classes · columns, sets)."""
        xp = self.xp
        n_classes, width = chances.shape[0], self.train.shape[1]
        parts = [slice(one * width, (one + 1) * width) for one in range(n_classes)]
        shape = (n_classes * width, n_classes * width, chances.shape[2])
        hessian = xp.empty(shape, dtype=chances.dtype, device=chances.device)
        own = xp.zeros_like(chances)
        for one in range(n_classes):
            weighted = self.weights * chances[one, ...]
            for other in range(one):
                shared = weighted * chances[other, ...]
                own[one, ...] += shared
                own[other, ...] += shared
                block = self.products.sums(-shared, held[one, other, :], coarse=True)
                hessian[parts[one], parts[other], :] = block
                hessian[parts[other], parts[one], :] = block
        for one in range(n_classes):
            diagonal = self.penalties + held[one, one, :]
            block = self.products.sums(own[one, ...], diagonal, coarse=True)
            hessian[parts[one], parts[one], :] = block
        return hessian
