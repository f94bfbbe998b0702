"""Work on many rows in memory: slices that stay in cache, and threads that share them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from counterpoise._arrays import Array, on_cpu

Item = TypeVar("Item")
Result = TypeVar("Result")

# Numbers of a slice, and of an array below which threads take longer to start than to work.
_ENTRIES, _FEW = 2**16, 2**19
_alone = Lock()


def row_slices(X: Array, /) -> list[Any]:
    """Cut rows (..., n, D) into slices that stay in cache; whole where that does not matter."""
    n, D = X.shape[-2:]
    step = max(1, _ENTRIES // max(D, 1) if X.ndim == 2 and on_cpu(X) else n)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


@cache
def _libraries() -> Any:
    """Return what sets the threads of linear algebra; it takes milliseconds to find."""
    return ThreadpoolController().select(user_api="blas")


def in_threads(
    work: Callable[[Item], Result], items: Sequence[Item], X: Array, /, *, times: int = 1
) -> list[Result]:
    """Return, in order, what `work` makes of each item, which are pieces of the work on X.

    `times` says how often the numbers of X are used, if that is much more than once.

    The threads are as many as linear algebra may use, and each does its own: products of a few
    rows are too small to be shared out, and the passes between them are not shared at all. Who
    comes while other threads work, or from one of them, works alone.
    """
    if times * math.prod(X.shape) < _FEW or not on_cpu(X) or not _alone.acquire(blocking=False):
        return list(map(work, items))
    try:
        libraries = _libraries()
        threads = max((library["num_threads"] for library in libraries.info()), default=1)
        if threads == 1:
            return list(map(work, items))
        with libraries.limit(limits=1), ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, items))
    finally:
        _alone.release()
