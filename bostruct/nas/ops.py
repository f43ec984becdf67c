"""Modules of convolutional and fully connected networks for search spaces.

Each function makes a module (`bostruct.language`) and returns (inputs, outputs): one input ``in`` and one output
``out``, except for `concat` and `add`. Every argument is a hyperparameter or a constant; a list raises LanguageError.
Images are (batch, channels, height, width); convolutions and pools pad so that stride 1 keeps the size and stride 2
halves it, rounded up. If `Architecture` has such a layer, the module represents it.

torch is loaded only when a program is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from bostruct.checks import short_repr
from bostruct.domains.language.combinators import combiner, siso_sequential
from bostruct.domains.language.compilers.implementations import Shapes, Values, share_layer, share_partial
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.graph import IO, Hyperparameter, siso_module
from bostruct.domains.language.values import Value

if TYPE_CHECKING:
    from torch import Tensor, nn

IntSetting: TypeAlias = int | Hyperparameter
FloatSetting: TypeAlias = float | Hyperparameter
BoolSetting: TypeAlias = bool | Hyperparameter


def _check_settings(**values: Value | Hyperparameter) -> dict[str, Value | Hyperparameter]:
    """Return the settings of a module; raise LanguageError for a list, which is a choice without its ``D``."""
    for name, value in values.items():
        if isinstance(value, list | tuple | range):
            given = short_repr(value)
            raise LanguageError(f"{name}: expected one value or a hyperparameter, got {given}; a choice is D({given})")
    return values


def conv2d(
    filters: IntSetting,
    kernel: IntSetting = 3,
    stride: IntSetting = 1,
    dilation: IntSetting = 1,
    bias: BoolSetting = True,
) -> IO:
    """Build a convolution; its layer is ``conv3-64/2`` for kernel 3, 64 filters and stride 2.

    Parameters
    ----------
    filters : int or Hyperparameter
        Number of output channels, at least 1.
    kernel : int or Hyperparameter, default 3
        Height and width of the kernel in pixels, an odd number.
    stride : int or Hyperparameter, default 1
        Stride of the convolution; 2 halves the image.
    dilation : int or Hyperparameter, default 1
        Distance in pixels between the inputs of a kernel; 1 for adjacent pixels.
    bias : bool or Hyperparameter, default True
        Whether a bias is added.

    Examples
    --------
    >>> from bostruct.language import D, SearchSpace, siso_sequential
    >>> from bostruct.nas import ops
    >>> space = SearchSpace(lambda: siso_sequential([ops.conv2d(D([16, 32]), kernel=D([3, 5])), ops.relu()]))
    >>> space.count().count
    4
    """
    values = _check_settings(filters=filters, kernel=kernel, stride=stride, dilation=dilation, bias=bias)
    return siso_module("Conv2D", values, share_layer(_conv2d, layer=_conv_layer))


def depthwise_conv2d(
    kernel: IntSetting = 3, stride: IntSetting = 1, dilation: IntSetting = 1, bias: BoolSetting = True
) -> IO:
    """Build a convolution of each channel by itself; it is not a layer of an `Architecture`.

    Parameters
    ----------
    kernel, stride, dilation, bias
        See `conv2d`.
    """
    values = _check_settings(kernel=kernel, stride=stride, dilation=dilation, bias=bias)
    return siso_module("DepthwiseConv2D", values, share_layer(_depthwise))


def separable_conv2d(
    filters: IntSetting,
    kernel: IntSetting = 3,
    stride: IntSetting = 1,
    dilation: IntSetting = 1,
    bias: BoolSetting = True,
) -> IO:
    """Build a depthwise convolution, then a convolution of size 1.

    Its layer is the layer of `conv2d`, with the attribute ``separable``.

    Parameters
    ----------
    filters, kernel, stride, dilation, bias
        See `conv2d`. Only the second convolution has a bias.
    """
    values = _check_settings(filters=filters, kernel=kernel, stride=stride, dilation=dilation, bias=bias)
    return siso_module("SeparableConv2D", values, share_layer(_separable, layer=_separable_layer))


def dense(units: IntSetting, bias: BoolSetting = True) -> IO:
    """Build a fully connected layer on the last axis; its layer is ``fc-64`` for 64 units.

    Parameters
    ----------
    units : int or Hyperparameter
        Number of outputs.
    bias : bool or Hyperparameter, default True
        Whether a bias is added.
    """
    return siso_module("Dense", _check_settings(units=units, bias=bias), share_layer(_dense, layer=_dense_layer))


def relu() -> IO:
    """Build the activation max(0, x)."""
    return siso_module("ReLU", implementation=share_layer(share_partial(_plain, "ReLU")))


def tanh() -> IO:
    """Build the activation tanh(x)."""
    return siso_module("Tanh", implementation=share_layer(share_partial(_plain, "Tanh")))


def sigmoid() -> IO:
    """Build the activation 1 / (1 + exp(-x))."""
    return siso_module("Sigmoid", implementation=share_layer(share_partial(_plain, "Sigmoid")))


def dropout(rate: FloatSetting) -> IO:
    """Build dropout, which sets numbers to 0 while training.

    Parameters
    ----------
    rate : float or Hyperparameter
        Probability of each number, in [0, 1].
    """
    return siso_module("Dropout", _check_settings(rate=rate), share_layer(_dropout))


def batch_norm(momentum: FloatSetting = 0.1, affine: BoolSetting = True) -> IO:
    """Build the normalization of each channel over the batch, of images or of features.

    Parameters
    ----------
    momentum : float or Hyperparameter, default 0.1
        Weight of the current batch in the running mean and variance, in [0, 1].
    affine : bool or Hyperparameter, default True
        Whether each channel has a scale and a shift that are trained.
    """
    return siso_module("BatchNorm", _check_settings(momentum=momentum, affine=affine), share_layer(_batch_norm))


def max_pool(kernel: IntSetting = 3, stride: IntSetting = 2) -> IO:
    """Build the maximum of each patch; with stride 2 its layer is ``max-pool``.

    Parameters
    ----------
    kernel : int or Hyperparameter, default 3
        Height and width of a patch in pixels: an odd number, or equal to the stride.
    stride : int or Hyperparameter, default 2
        Distance between patches in pixels; 2 halves the image.
    """
    values = _check_settings(kernel=kernel, stride=stride)
    build, layer = share_partial(_pool, "MaxPool2d"), share_partial(_pool_layer, "max-pool")
    return siso_module("MaxPool2D", values, share_layer(build, layer=layer))


def avg_pool(kernel: IntSetting = 3, stride: IntSetting = 2) -> IO:
    """Build the mean of each patch, without padding; with stride 2 its layer is ``avg-pool``.

    Parameters
    ----------
    kernel, stride
        See `max_pool`.
    """
    values = _check_settings(kernel=kernel, stride=stride)
    build, layer = share_partial(_pool, "AvgPool2d"), share_partial(_pool_layer, "avg-pool")
    return siso_module("AvgPool2D", values, share_layer(build, layer=layer))


def global_pool() -> IO:
    """Build the mean of each channel, (batch, channels)."""
    return siso_module("GlobalPool", implementation=share_layer(_global_pool))


def flatten() -> IO:
    """Build the flattening of all axes except the batch into one."""
    return siso_module("Flatten", implementation=share_layer(share_partial(_plain, "Flatten")))


def concat(n: int, axis: int = 1) -> IO:
    """Build the concatenation of tensors.

    Parameters
    ----------
    n : int
        Number of inputs, ``in0`` to ``in(n - 1)``.
    axis : int, default 1
        Axis of the concatenation; 1 for channels.
    """
    return combiner(n, "Concat", share_layer(share_partial(_combined, share_partial(_cat, axis=axis))))


def add(n: int) -> IO:
    """Build the sum of tensors of one shape.

    Parameters
    ----------
    n : int
        Number of inputs, ``in0`` to ``in(n - 1)``.
    """
    return combiner(n, "Add", share_layer(share_partial(_combined, _sum)))


def conv_bn_relu(filters: int, kernel: int = 3, stride: int = 1, bias: bool = False) -> IO:
    """Build a convolution, by default without bias, batch normalization, ReLU.

    Parameters
    ----------
    filters, kernel, stride : int
        See `conv2d`.
    bias : bool, default False
        Whether the convolution has a bias.
    """
    return siso_sequential([conv2d(filters, kernel, stride, bias=bias), batch_norm(), relu()])


def relu_conv_bn(filters: int, kernel: int = 3, stride: int = 1, dilation: int = 1) -> IO:
    """Build ReLU, a convolution without bias, batch normalization.

    Parameters
    ----------
    filters, kernel, stride, dilation : int
        See `conv2d`.
    """
    return siso_sequential([relu(), conv2d(filters, kernel, stride, dilation, bias=False), batch_norm()])


def relu_separable_bn(filters: int, kernel: int = 3, stride: int = 1, dilation: int = 1) -> IO:
    """Build ReLU, a depthwise convolution, a convolution of size 1, batch normalization.

    Parameters
    ----------
    filters, kernel, stride, dilation : int
        See `conv2d`.
    """
    made = separable_conv2d(filters, kernel, stride, dilation, bias=False)
    return siso_sequential([relu(), made, batch_norm()])


def padding(kernel: int, dilation: int = 1) -> int:
    """Return the padding that keeps the size of an image at stride 1.

    Parameters
    ----------
    kernel : int
        Height and width of the kernel in pixels, an odd number.
    dilation : int, default 1
        Dilation of the kernel, at least 1.

    Returns
    -------
    int
        Pixels to add on each side, dilation (kernel - 1) / 2.

    Raises
    ------
    LanguageError
        If the kernel is even, because no such padding exists.
    """
    if kernel % 2 == 0:
        raise LanguageError(f"kernel: expected an odd size, which can be padded equally on both sides; got {kernel}")
    return dilation * (kernel - 1) // 2


def _conv2d(values: Values, shapes: Shapes, channels: int | None = None, groups: int = 1) -> nn.Conv2d:
    from torch import nn

    size, dilation = values["kernel"], values["dilation"]
    return nn.Conv2d(
        shapes["in"][1],
        values["filters"] if channels is None else channels,
        size,
        stride=values["stride"],
        padding=padding(size, dilation),
        dilation=dilation,
        groups=groups,
        bias=bool(values["bias"]),
    )


def _depthwise(values: Values, shapes: Shapes) -> nn.Conv2d:
    channels = shapes["in"][1]
    return _conv2d(values, shapes, channels, channels)


def _separable(values: Values, shapes: Shapes) -> nn.Module:
    from torch import nn

    pointwise = nn.Conv2d(shapes["in"][1], values["filters"], 1, bias=bool(values["bias"]))
    return nn.Sequential(_depthwise(values | {"bias": False}, shapes), pointwise)


def _dense(values: Values, shapes: Shapes) -> nn.Module:
    from torch import nn

    return nn.Linear(shapes["in"][-1], values["units"], bias=bool(values["bias"]))


def _dropout(values: Values, shapes: Shapes) -> nn.Module:
    from torch import nn

    del shapes
    return nn.Dropout(values["rate"])


def _batch_norm(values: Values, shapes: Shapes) -> nn.Module:
    from torch import nn

    made = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[len(shapes["in"])]
    return made(shapes["in"][1], momentum=values["momentum"], affine=bool(values["affine"]))


def _pool(name: str, values: Values, shapes: Shapes) -> nn.Module:
    from torch import nn

    del shapes
    size, stride = values["kernel"], values["stride"]
    padded = 0 if size == stride else padding(size)  # patches that do not overlap need no padding
    if name == "MaxPool2d":
        return nn.MaxPool2d(size, stride, padded, ceil_mode=size == stride)
    return nn.AvgPool2d(size, stride, padded, ceil_mode=size == stride, count_include_pad=False)


def _global_pool(values: Values, shapes: Shapes) -> Callable[..., object]:
    del values, shapes
    return _spatial_mean


def _plain(name: str, values: Values, shapes: Shapes) -> nn.Module:
    from torch import nn

    del values, shapes
    return getattr(nn, name)()


def _combined(fn: Callable[..., object], values: Values, shapes: Shapes) -> Callable[..., object]:
    del values, shapes
    return fn


def _cat(*given: Tensor, axis: int) -> Tensor:
    import torch

    return torch.cat(given, axis)


def _sum(*given: Tensor) -> Tensor:
    shapes = {tuple(one.shape) for one in given}
    if len(shapes) > 1:
        raise ValueError(f"expected tensors of one shape, got {', '.join(map(str, sorted(shapes)))}")
    return sum(given[1:], given[0])


def _spatial_mean(image: Tensor) -> Tensor:
    return image.mean(dim=tuple(range(2, image.dim())))


def _conv_layer(values: Values) -> tuple[str, Value, Value, dict[str, Value]]:
    attributes = {} if values["dilation"] == 1 else {"dilation": values["dilation"]}
    return (f"conv{values['kernel']}", values["filters"], values["stride"], attributes)


def _separable_layer(values: Values) -> tuple[str, Value, Value, dict[str, Value]]:
    label, units, stride, attributes = _conv_layer(values)
    return (label, units, stride, {**attributes, "separable": True})


def _dense_layer(values: Values) -> str:
    return f"fc-{values['units']}"


def _pool_layer(name: str, values: Values) -> str | None:
    return name if values["stride"] == 2 else None
