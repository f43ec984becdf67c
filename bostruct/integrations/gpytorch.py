"""Kernels of bostruct inside GPyTorch and BoTorch: a bridge over integer codes.

A stock `ExactGP` or BoTorch model trains a `GramKernel` like any other kernel. bostruct computes the Gram matrix and
its gradient in the kernel's parameters, in closed form; GPyTorch does everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bostruct import contracts
from bostruct.checks import check_part, missing_package
from bostruct.contracts import Array, Batch, IntArray, Parameter, Pullback
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import INACTIVE
from bostruct.kernels.space.product import SpaceKernel
from bostruct.methods.defaults import space_kernel

if TYPE_CHECKING:
    from torch.distributions.constraints import Constraint


try:
    import torch
    from gpytorch.kernels import Kernel
    from gpytorch.priors import Prior
    from torch import Tensor
except ModuleNotFoundError as error:
    raise missing_package(error.name or "gpytorch") from error

DIAGONAL_BLOCK = 256  # rows whose Gram matrix is made for the gradient of a diagonal

ClosedForm = Callable[[Array], tuple[Array, Pullback]]  # theta (p,) -> values, and their map from cotangent to (p,)


class GramKernel(Kernel):
    """A `gpytorch.kernels.Kernel` that computes with a kernel of bostruct.

    The torch parameters are theta itself, unconstrained: a parameter of shape (*batch_shape, 1, size) for each block,
    with the name of the block.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    points : Batch, optional
        If None, inputs are points, integer-coded rows of a `Space` (..., n, d). Otherwise inputs are row numbers of
        this batch (..., n, 1), so that the kernel prepares its points only once. A row has the lowest int64, -2^63, in
        the columns of an inactive variable.
    n_choices : sequence of int, optional
        Number of choices of each column, to check inputs. If None, inputs are not checked.
    priors : bool, default False
        If True, the log prior of each block of parameters is added to the loss.
    batch_shape : Size, optional
        Shape of independent sets of parameters.
    active_dims : sequence of int, optional
        Columns of the inputs that the kernel uses, in the kernel's order. If None, it uses all columns. If given,
        inputs may require a gradient, which is zero in these columns.
    dtype : dtype, default torch.float64
        Type of the parameters.

    Raises
    ------
    ValueError
        If inputs are not integers in range, or require a gradient in the kernel's own columns.
    RuntimeError
        If a second derivative is requested.
    DomainError
        If `priors` is True and a prior has no gradient.
    """

    def __init__(
        self,
        kernel: contracts.Kernel,
        points: Batch | None = None,
        *,
        n_choices: Sequence[int] | None = None,
        priors: bool = False,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__(batch_shape=batch_shape, active_dims=None if active_dims is None else tuple(active_dims))
        self.kernel = check_part("kernel", kernel, contracts.Kernel)
        self.points = points
        if points is not None and n_choices is not None:
            raise ValueError("n_choices: expected None if points are given: inputs are then row numbers")
        counts = n_choices if points is None else [len(points)]
        self.n_choices = None if counts is None else np.array(counts, dtype=np.int64)
        factors = kernel.factors if points is None and isinstance(kernel, SpaceKernel) else ()
        self._optional = [column for one in factors if one.more for column in one.columns]  # of inactive variables
        self._prepared = None if points is None else kernel.prepare(points)
        for block in kernel.parameters:
            start = torch.full((*self.batch_shape, 1, block.size), block.initial, dtype=dtype)
            self.register_parameter(block.name, torch.nn.Parameter(start))
            if priors:
                self.register_prior(f"{block.name}_prior", BlockPrior(block), _ParameterOf(block.name))

    @property
    def theta(self) -> Tensor:
        """The parameters of all blocks, in order (*batch_shape, p)."""
        return torch.cat([getattr(self, block.name) for block in self.kernel.parameters], dim=-1).squeeze(-2)

    def forward(
        self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **params: Any
    ) -> Tensor:
        """Return the Gram matrix (..., n, m), or its diagonal (..., n); leading dimensions broadcast.

        Parameters
        ----------
        x1 : Tensor
            (..., n, d), or (..., n, 1) if inputs are row numbers.
        x2 : Tensor
            (..., m, d), or (..., m, 1).
        diag : bool, default False
            Return the diagonal; needs n = m.
        last_dim_is_batch : bool, default False
            Must be False.
        params : Any
            Ignored.

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        if last_dim_is_batch:
            raise ValueError("last_dim_is_batch: expected False: a kernel over structures is not a sum over columns")
        if diag and x1.shape[-2] != x2.shape[-2]:
            raise ValueError(f"diag: expected as many rows in x1 as in x2, got {x1.shape[-2]} and {x2.shape[-2]}")
        theta = self.theta
        if self.active_dims is not None:  # the inputs' gradient is the gradient in the other columns
            x1, x2 = x1.detach(), x2.detach()
        left = _integer_codes("x1", x1, self.n_choices, self._optional)
        right = _integer_codes("x2", x2, self.n_choices, self._optional)
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2], theta.shape[:-1])
        last = (left.shape[-2],) if diag else (left.shape[-2], right.shape[-2])
        dtype = torch.promote_types(theta.dtype, x1.dtype)
        if not diag and theta.ndim == 1 and _is_constant(right):  # all candidates against the same points, in one call
            rows = left.reshape(-1, left.shape[-1])
            values = _ClosedFormFunction.apply(theta[None], [self._gram(rows, right.reshape(-1, *right.shape[-2:])[0])])
            values = values.reshape(*left.shape[:-2], *last).expand(*batch, *last)
        else:
            lefts = np.broadcast_to(left, (*batch, *left.shape[-2:])).reshape(-1, *left.shape[-2:])
            rights = np.broadcast_to(right, (*batch, *right.shape[-2:])).reshape(-1, *right.shape[-2:])
            build = self._diagonal if diag else self._gram
            builds = [build(a, b) for a, b in zip(lefts, rights, strict=True)]
            values = _ClosedFormFunction.apply(theta.expand(*batch, -1).reshape(-1, theta.shape[-1]), builds).reshape(
                *batch, *last
            )
        return values.to(dtype)

    def _gram(self, xs: IntArray, ys: IntArray) -> ClosedForm:
        if self._prepared is None:
            prepared = self.kernel.prepare(xs, ys)
            return lambda theta: self.kernel.gram_and_pullback(theta, prepared)
        cells = np.ix_(xs[:, 0], ys[:, 0])

        def build(theta: Array) -> tuple[Array, Pullback]:
            gram, pullback = self.kernel.gram_and_pullback(theta, self._prepared)

            def spread(cotangent: Array) -> Array:
                full = np.zeros_like(gram)
                np.add.at(full, cells, cotangent)
                return pullback(full)

            return gram[cells], spread

        return build

    def _diagonal(self, xs: IntArray, ys: IntArray) -> ClosedForm:
        """Return k(x, y) pair by pair, from the diagonals of blocks."""
        starts = range(0, len(xs), DIAGONAL_BLOCK)
        blocks = [self._gram(xs[i : i + DIAGONAL_BLOCK], ys[i : i + DIAGONAL_BLOCK]) for i in starts]

        def build(theta: Array) -> tuple[Array, Pullback]:
            made = [block(theta) for block in blocks]

            def pullback(cotangent: Array) -> Array:
                parts = [cotangent[i : i + DIAGONAL_BLOCK] for i in starts]
                return sum((back(np.diag(g)) for (_, back), g in zip(made, parts, strict=True)), np.zeros(len(theta)))

            return np.concatenate([np.empty(0), *(gram.diagonal() for gram, _ in made)]), pullback

        return build


def diffusion_kernel(
    space: Space,
    priors: bool = True,
    batch_shape: torch.Size | None = None,
    active_dims: Sequence[int] | None = None,
) -> GramKernel:
    """Build the ARD diffusion kernel on which `method="auto"` is based, for inputs coded like the points of a `Space`.

    Its variance is 1 everywhere: wrap it in `gpytorch.kernels.ScaleKernel` for an amplitude.

    Parameters
    ----------
    space : Space
        A space without `Real` variables and without long or logarithmic `Integer` variables.
    priors : bool, default True
        If True, the log-normal prior of the lengthscales, which grows with the number of variables, is added to the
        loss.
    batch_shape : Size, optional
        Shape of independent sets of parameters.
    active_dims : sequence of int, optional
        Columns of the inputs with the variables of the space, in its order. If None, all columns.

    Raises
    ------
    DomainError
        If the space has an unsupported variable.
    """
    return GramKernel(
        space_kernel(space),
        n_choices=space.n_choices.tolist(),
        priors=priors,
        batch_shape=batch_shape,
        active_dims=active_dims,
    )


class BlockPrior(Prior):
    """The prior of one block of parameters, without normalizing constants; it cannot be sampled.

    Parameters
    ----------
    block : Parameter
        Parameters of a kernel that share a prior, which must have a gradient.

    Raises
    ------
    DomainError
        If the prior has no gradient.
    """

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        return {}

    def __init__(self, block: Parameter) -> None:
        super().__init__(validate_args=False)
        self.log_density = check_part(f"kernel: {block.name}: prior", block.prior, contracts.Prior)

    def log_prob(self, x: Tensor) -> Tensor:
        """Return the log density of each element, in the shape of x.

        Parameters
        ----------
        x : Tensor
            Parameters of the block, any shape.
        """
        return _ClosedFormFunction.apply(x.reshape(-1, 1), [self._build] * x.numel()).reshape(x.shape).to(x.dtype)

    def _build(self, theta: Array) -> tuple[Array, Pullback]:
        total, gradient = self.log_density.value_and_grad(theta)
        return np.array([total]), lambda cotangent: cotangent[0] * gradient


class _ParameterOf:
    """A function from a kernel to its parameter of a given name; unlike a closure, it can be pickled."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, kernel: Kernel) -> Tensor:
        return getattr(kernel, self.name)


class _ClosedFormFunction(torch.autograd.Function):
    """Stacked values of closed forms, one for each row of theta (b, p), with gradients."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, builds: Sequence[ClosedForm]) -> Tensor:
        rows = theta.detach().to("cpu", torch.float64).numpy()
        made = [build(row) for build, row in zip(builds, rows, strict=True)]
        ctx.pullbacks = [pullback for _, pullback in made]
        ctx.like = theta.dtype, theta.device
        return torch.from_numpy(np.stack([values for values, _ in made])).to(theta.device)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor, None]:
        if torch.is_grad_enabled():
            raise RuntimeError("create_graph: expected False: kernels of bostruct have no second derivatives")
        rows = cotangents[0].detach().to("cpu", torch.float64).numpy()
        gradient = np.stack([pullback(row) for pullback, row in zip(ctx.pullbacks, rows, strict=True)])
        dtype, device = ctx.like
        return torch.from_numpy(gradient).to(device, dtype), None


def _integer_codes(name: str, x: Tensor, n_choices: IntArray | None, optional: Sequence[int]) -> IntArray:
    if x.requires_grad:
        raise ValueError(f"{name}: choices have no gradient; use a discrete search")
    given = x.detach().cpu().numpy()
    if n_choices is not None and given.shape[-1] != len(n_choices):
        raise ValueError(f"{name}: expected {len(n_choices)} columns, got shape {given.shape}")
    high = np.inf if n_choices is None else n_choices
    wrong = ~((given >= 0) & (given < high) & (given == np.floor(given)))
    wrong[..., optional] &= given[..., optional] != INACTIVE
    if wrong.any():
        place = tuple(map(int, np.argwhere(wrong)[0]))
        allowed = "0, 1, ..." if n_choices is None else f"0..{n_choices[place[-1]] - 1}"
        raise ValueError(f"{name}: expected one of {allowed} in column {place[-1]}, got {given[place]}")
    return given.astype(np.int64)


def _is_constant(codes: IntArray) -> bool:
    """Return whether all batches have the same rows."""
    rows = codes.reshape(-1, *codes.shape[-2:])
    return len(rows) > 0 and bool((rows == rows[0]).all())
