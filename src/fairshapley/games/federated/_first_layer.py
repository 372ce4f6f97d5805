"""The first convolution of a network for grey images, with its pooling, in one GPU kernel (Triton).

The first layer of such a network is its largest: 64 channels of 30 × 30 numbers for an image of
32 × 32. Written to memory, read for the pooling and again for the activation, it takes most of the
time of the whole network. Here a program computes some pixels of the pooled layer for all channels:
the maximum of a few small matrix products, which never leave the registers.

Without a GPU the kernel runs in Triton's interpreter (``TRITON_INTERPRET=1``), for tests.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Pixels of a program: 64 × 64 sums in single precision take 32 registers of each of 128 threads. On
# an H200, 128 pixels took 1.25 times as long, 256 with twice the threads 1.7 times.
PIXELS, WARPS = 64, 4


@triton.jit
def _pooled(
    images,
    weights,
    biases,
    outputs,
    n_pixels,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    KERNEL: tl.constexpr,
    POOL: tl.constexpr,
    TAPS: tl.constexpr,
    CHANNELS: tl.constexpr,
    PADDED: tl.constexpr,
    TANH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    rows: tl.constexpr = (HEIGHT - KERNEL + 1) // POOL
    columns: tl.constexpr = (WIDTH - KERNEL + 1) // POOL
    pixel = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = pixel < n_pixels
    image = pixel // (rows * columns)
    place = pixel % (rows * columns)
    corner = (place // columns) * (POOL * WIDTH) + (place % columns) * POOL
    corner += image * (HEIGHT * WIDTH)
    tap = tl.arange(0, TAPS)
    known = tap < KERNEL * KERNEL
    shift = (tap // KERNEL) * WIDTH + tap % KERNEL
    channel = tl.arange(0, PADDED)
    there = channel < CHANNELS
    weight = tl.load(
        weights + channel[None, :] * (KERNEL * KERNEL) + tap[:, None],
        mask=known[:, None] & there[None, :],
        other=0.0,
    )
    largest = tl.full([BLOCK, PADDED], float("-inf"), tl.float32)
    for down in tl.static_range(POOL):
        for right in tl.static_range(POOL):
            patch = tl.load(
                images + corner[:, None] + (shift + (down * WIDTH + right))[None, :],
                mask=inside[:, None] & known[None, :],
                other=0.0,
            )
            largest = tl.maximum(largest, tl.dot(patch, weight))
    result = largest + tl.load(biases + channel, mask=there, other=0.0).to(tl.float32)[None, :]
    if TANH:
        result = 2.0 / (1.0 + tl.exp(-2.0 * result)) - 1.0
    else:
        result = tl.where(result < 0.0, 0.0, result)  # NaN stays NaN
    tl.store(
        outputs + pixel[:, None] * CHANNELS + channel[None, :],
        result.to(outputs.dtype.element_ty),
        mask=inside[:, None] & there[None, :],
    )


class FirstLayer(torch.nn.Module):
    """A convolution of grey images, a max-pool and an activation, in half precision.

    The weights have the names that they have in a `Conv2d`.
    """

    def __init__(self, convolution: torch.nn.Conv2d, pool: int, activation: str) -> None:
        super().__init__()
        self.weight, self.bias = convolution.weight, convolution.bias
        self.pool = pool
        self.activation = activation

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The pooled layer, with the channels last in memory."""
        if self.bias is None or (images.device.type == "cpu" and not _interpreted()):
            layer = torch.nn.functional.conv2d(images, self.weight, self.bias)
            layer = torch.nn.functional.max_pool2d(layer, self.pool)
            return torch.tanh(layer) if self.activation == "Tanh" else torch.relu(layer)
        count, _, height, width = images.shape
        channels, kernel = len(self.weight), self.weight.shape[-1]
        sides = [(side - kernel + 1) // self.pool for side in (height, width)]
        outputs = torch.empty((count, *sides, channels), dtype=images.dtype, device=images.device)
        n_pixels = count * sides[0] * sides[1]
        launch: Any = _pooled[(triton.cdiv(n_pixels, PIXELS),)]
        launch(
            images.contiguous(),
            self.weight.contiguous(),
            self.bias,
            outputs,
            n_pixels,
            HEIGHT=height,
            WIDTH=width,
            KERNEL=kernel,
            POOL=self.pool,
            TAPS=max(16, triton.next_power_of_2(kernel**2)),
            CHANNELS=channels,
            PADDED=max(16, triton.next_power_of_2(channels)),
            TANH=self.activation == "Tanh",
            BLOCK=PIXELS,
            num_warps=WARPS,
        )
        return outputs.permute(0, 3, 1, 2)


def _interpreted() -> bool:
    return bool(triton.knobs.runtime.interpret)


def with_first_layer(model: torch.nn.Module) -> torch.nn.Module | None:
    """The model with its first three layers as one, or None where they are not of that kind.

    The names of all weights stay what they are.
    """
    if type(model) is not torch.nn.Sequential or len(model) < 4:
        return None
    convolution, pool, activation = model[0], model[1], model[2]
    if not (
        type(convolution) is torch.nn.Conv2d
        and type(pool) is torch.nn.MaxPool2d
        and type(activation) in (torch.nn.Tanh, torch.nn.ReLU)
        and _is_plain(convolution)
        and pool.kernel_size == pool.stride
        and isinstance(pool.kernel_size, int)
        and (pool.padding, pool.dilation) == (0, 1)
        and not (pool.ceil_mode or pool.return_indices)
    ):
        return None
    first = FirstLayer(convolution, pool.kernel_size, type(activation).__name__)
    nothing = torch.nn.Identity
    return torch.nn.Sequential(first, nothing(), nothing(), *list(model)[3:])


def _is_plain(layer: torch.nn.Conv2d) -> bool:
    """Whether one channel is convolved with a small square, without padding or gaps."""
    kernel = layer.kernel_size
    return (
        layer.in_channels == 1
        and layer.bias is not None
        and kernel[0] == kernel[1] <= 8
        and layer.out_channels <= 128
        and layer.stride == layer.dilation == (1, 1)
        and layer.padding == (0, 0)
    )
