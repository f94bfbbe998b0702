"""Random numbers from NumPy or PyTorch, so that every sampler is written once.

A sampler asks a generator for `standard_normal`, `random`, `standard_exponential` and `integers`,
which NumPy's generators have and `TorchGenerator` copies, and computes with whatever arrays come
back. What else the two libraries do not share are the functions below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from counterpoise._arrays import Array, array_namespace, is_torch_namespace
from counterpoise._validation import check_number


class TorchGenerator:
    """Draw PyTorch arrays where an accelerator is: moving data there takes longer than using it.

    The device is "cuda", "cpu" or another that PyTorch knows.
    """

    def __init__(self, seed: np.random.SeedSequence, device: str, /) -> None:
        import torch

        self.torch = torch
        high, low = (int(word) for word in seed.generate_state(2))
        generator = torch.Generator(device=device).manual_seed((high << 31) ^ low)
        self.device = generator.device
        self._options: dict[str, Any] = {"generator": generator, "device": generator.device}

    def standard_normal(self, size: tuple[int, ...]) -> Array:
        """Draw from N(0, 1)."""
        return self.torch.randn(size, dtype=self.torch.float64, **self._options)

    def random(self, size: tuple[int, ...]) -> Array:
        """Draw uniformly from [0, 1)."""
        return self.torch.rand(size, dtype=self.torch.float64, **self._options)

    def standard_exponential(self, size: tuple[int, ...]) -> Array:
        """Draw from the exponential distribution with mean 1."""
        return -(-self.random(size)).log1p()

    def integers(self, high: int, *, size: tuple[int, ...]) -> Array:
        """Draw integers from 0 to high - 1."""
        return self.torch.randint(high, size, **self._options)


def as_generator(random_state: Any, /) -> Any:
    """Return a generator: the given one, one seeded by an integer, or a fresh one for None."""
    if isinstance(random_state, np.random.Generator | TorchGenerator):
        return random_state
    if random_state is not None:
        remedy = "Pass a seed, numpy.random.default_rng(seed), or None for fresh numbers."
        check_number(random_state, "random_state", low=0, closed="low", integer=True, remedy=remedy)
    return np.random.default_rng(random_state)


def on_device_of(rng: Any, values: np.ndarray, /) -> Array:
    """Return an array in the library and on the device that the generator draws in."""
    if isinstance(rng, TorchGenerator):
        return rng.torch.as_tensor(values, device=rng.device)
    return values


def permutations(rng: Any, values: np.ndarray, shape: tuple[int, ...], /) -> Array:
    """Return the values (n,) in independent random orders, as (*shape, n)."""
    size = (*shape, len(values))
    if isinstance(rng, TorchGenerator):
        return on_device_of(rng, values)[rng.random(size).argsort(dim=-1)]
    return rng.permuted(np.broadcast_to(values, size), axis=-1)


def smallest(keys: Array, count: int, /) -> Array:
    """Return the places of the `count` smallest keys along the last axis, in any order."""
    if is_torch_namespace(array_namespace(keys)):
        return keys.topk(count, dim=-1, largest=False).indices
    return np.argpartition(keys, count - 1, axis=-1)[..., :count]


def normal_quantile(share: Array, /) -> Array:
    """Return the quantile function of N(0, 1)."""
    xp = array_namespace(share)
    return xp.special.ndtri(share) if is_torch_namespace(xp) else ndtri(share)
