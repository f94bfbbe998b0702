"""Connecting to Dask: a scheduler that is running, or worker processes on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from counterpoise._validation import InputError


@contextmanager
def connect(
    address: str, /, *, workers: int | None = None, option: str = "--dask"
) -> Iterator[Any]:
    """Give a Dask client for the duration of a `with` block.

    The address ``"local"`` starts a cluster of separate processes on this machine, with one thread
    each, and stops it afterwards: `workers` processes, by default one per core that this process
    may use. Anything else is the address of a running scheduler, such as ``tcp://host:8786``; that
    one is left running.

    Dask's configuration value ``counterpoise.connect-timeout`` (the environment variable
    ``DASK_COUNTERPOISE__CONNECT_TIMEOUT``) is the number of seconds to wait for a scheduler, and
    for its first worker; by default 10. It is an InputError, which calls the address `option`, if
    Dask is not installed, the address is none, no scheduler answers there, or it has no workers.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ModuleNotFoundError as error:
        raise InputError(
            f"`{option} {address}` needs Dask, which is not installed here. "
            f'Install "counterpoise[dask]", or leave {option} out.'
        ) from error
    if address == "local":
        # Any free port for the dashboard: another run may hold the usual one.
        options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
            yield client
        return
    timeout = float(dask.config.get("counterpoise.connect-timeout", 10.0))
    _check_scheduler(address, timeout, option)
    with Client(address, timeout=timeout) as client:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except TimeoutError as error:
            raise InputError(
                f"`{option} {address}`: the scheduler has no workers after {timeout:g} s. "
                f"Start some with `dask worker {address} --nthreads 1`."
            ) from error
        yield client


def _check_scheduler(address: str, timeout: float, option: str) -> None:
    """Shake hands with the scheduler.

    A Dask client that finds none stays behind half-made and complains when the program ends;
    this connection is the bare protocol.
    """
    from distributed.comm import connect

    async def greet() -> None:
        comm = await connect(address, timeout=timeout)
        await comm.close()

    try:
        # A thread of its own: the caller's may have an event loop running.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(greet())).result()
    except Exception as error:
        # Of many kinds: a wrong protocol, a port that refuses, a server that is no scheduler.
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"`{option}` must be `local` or the address of a running scheduler; got {address!r}: "
            f"{reason}. Start one with `dask scheduler`, and pass the tcp://host:port it prints."
        ) from error
