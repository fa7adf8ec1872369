"""Those who work on the partitions: a Dask cluster, or this process one partition after the other.

A team has pieces of the data, and does three things with them: `each` calls a function for every
piece and leaves what it returns where it is, `total` adds up parcels on the way to the client, and
`fetch` brings values to the client. All functions are pure, and every value that is given is part
of the task that uses it. So Dask can compute again whatever a lost worker held: pieces from their
source, and the state of a partition from the last one that the client has given.

The names of the tasks show in Dask's dashboard: skim-piece, skim-ascend, skim-add, ...
"""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from skimlearn.distributed._parcel import Parcel, added

__all__ = ["Cluster", "ClusterError", "Serial", "Team", "client_of"]

FAN_IN = 16  # parcels that are added up by one task
PATIENCE = 0.5  # seconds between two looks at whether to stop
LARGE = "distributed.admin.large-graph-warning-threshold"


class ClusterError(RuntimeError):
    """The cluster is gone, or lost what can't be computed again.

    Examples
    --------
    >>> raise ClusterError("the scheduler was lost")
    Traceback (most recent call last):
    skimlearn.distributed._team.ClusterError: the scheduler was lost
    """


class Team(Protocol):
    """What an algorithm needs of those who work for it."""

    count: int  # of the pieces

    @property
    def workers(self) -> int:
        """How many workers there are now."""

    def each(self, name: str, function: Callable[..., Any], *lists: Any, **given: Any) -> list[Any]:
        """function(piece, *items, **given) for every piece, with its item of each list."""

    def share(self, name: str, value: Any) -> Any:
        """A value that all of a round's calls are given."""

    def total(self, parcels: Sequence[Any], *, pairs: bool = True) -> Parcel:
        """The sum of parcels, or of the second parts of pairs."""

    def fetch(self, values: Sequence[Any]) -> list[Any]:
        """The values themselves."""

    def settle(self) -> None:
        """Let workers that have joined take their share of the pieces."""


class Serial:
    """All pieces in this process: to simulate many partitions, and to test.

    Examples
    --------
    >>> team = Serial([1.0, 2.0])
    >>> team.fetch(team.each("double", lambda piece: 2 * piece))
    [2.0, 4.0]
    """

    def __init__(self, pieces: Sequence[Any]) -> None:
        self.pieces = list(pieces)
        self.count = len(self.pieces)

    @property
    def workers(self) -> int:
        """See `Team`."""
        return 1

    def each(self, name: str, function: Callable[..., Any], *lists: Any, **given: Any) -> list[Any]:
        """See `Team`."""
        return [
            function(piece, *items, **given)
            for piece, *items in zip(self.pieces, *lists, strict=True)
        ]

    def share(self, name: str, value: Any) -> Any:
        """See `Team`."""
        return value

    def total(self, parcels: Sequence[Any], *, pairs: bool = True) -> Parcel:
        """See `Team`."""
        level = [_second(value) if pairs else value for value in parcels]
        while len(level) > 1:
            level = [added(level[k : k + FAN_IN]) for k in range(0, len(level), FAN_IN)]
        return level[0]

    def fetch(self, values: Sequence[Any]) -> list[Any]:
        """See `Team`."""
        return list(values)

    def settle(self) -> None:
        """See `Team`."""


class Cluster:
    """The pieces on a Dask cluster."""

    def __init__(
        self, client: Any, pieces: Sequence[Any], stop: threading.Event | None = None
    ) -> None:
        self.client, self.pieces = client, list(pieces)
        self.stop = stop or threading.Event()
        self.count = len(self.pieces)
        self.token = uuid.uuid4().hex[:8]
        self.calls = 0
        self.lock = threading.Lock()
        self.known: set[str] = set()

    def fork(self) -> Cluster:
        """Another team on the same pieces: for a problem that is solved at the same time."""
        return Cluster(self.client, self.pieces, self.stop)

    @property
    def workers(self) -> int:
        """How many workers there are now."""
        return max(1, len(_addresses(self.client)))

    def each(self, name: str, function: Callable[..., Any], *lists: Any, **given: Any) -> list[Any]:
        """See `Team`."""
        return [
            self._submit(name, function, piece, *items, **given)
            for piece, *items in zip(self.pieces, *lists, strict=True)
        ]

    def share(self, name: str, value: Any) -> Any:
        """See `Team`."""
        return self._submit(name, _same, value)

    def total(self, parcels: Sequence[Any], *, pairs: bool = True) -> Parcel:
        """See `Team`."""
        level = [self._submit("pick", _second, pair) for pair in parcels] if pairs else parcels
        while len(level) > 1:
            level = [
                self._submit("add", added, level[k : k + FAN_IN])
                for k in range(0, len(level), FAN_IN)
            ]
        return self.fetch(level)[0]

    def fetch(self, values: Sequence[Any]) -> list[Any]:
        """See `Team`; Ctrl-C, a stop from another thread and the loss of the scheduler end it."""
        from distributed import CancelledError, wait

        futures = list(values)
        try:
            while True:
                try:
                    wait(futures, timeout=PATIENCE)
                    return list(self.client.gather(futures))
                except TimeoutError:
                    if self.stop.is_set():
                        raise KeyboardInterrupt from None
                    if self.client.status != "running":
                        raise ClusterError(self._gone()) from None
        except KeyboardInterrupt:
            self.stop.set()
            self.client.cancel(futures)
            raise
        except (CancelledError, OSError) as error:
            if isinstance(error, CancelledError) and self.stop.is_set():
                raise KeyboardInterrupt from None
            raise ClusterError(self._gone()) from error

    def _gone(self) -> str:
        return (
            "the connection to Dask's scheduler was lost, or data that the client had put on "
            "workers by hand (scatter) went with them: start the cluster and fit again; with "
            "checkpoint=... and resume=True it goes on from the last checkpoint"
        )

    def settle(self) -> None:
        """See `Team`. A lost worker's pieces are computed again by Dask, wherever it likes."""
        if self.client.status != "running":
            raise ClusterError(self._gone())
        addresses = _addresses(self.client)
        new = set(addresses) - self.known
        first, self.known = not self.known, set(addresses)
        if not new or first or len(addresses) < 2:
            return
        held = self.client.who_has(self.pieces)
        homes = [min(held.get(piece.key) or [""]) for piece in self.pieces]
        most = math.ceil(self.count / len(addresses))
        loads = {address: homes.count(address) for address in addresses}
        for k, home in enumerate(homes):
            target = min(loads, key=lambda address: (loads[address], address))
            if loads.get(home, 0) > most and loads[target] < most:
                self.pieces[k] = self._submit(
                    "move", _same, self.pieces[k], workers=[target], allow_other_workers=True
                )
                loads[home] -= 1
                loads[target] += 1

    def _submit(self, name: str, function: Callable[..., Any], *items: Any, **given: Any) -> Any:
        import dask

        with self.lock:
            self.calls += 1
            key = f"skim-{name}-{self.token}-{self.calls}"
        try:
            with dask.config.set({LARGE: "1 TiB"}):  # vectors are meant to be in the graph
                return self.client.submit(function, *items, key=key, pure=False, **given)
        except Exception as error:
            if self.client.status == "running":
                raise
            raise ClusterError(self._gone()) from error


def client_of(client: Any) -> Any:
    """The client that was given, or the one that is there."""
    try:
        from distributed import default_client
    except ImportError as error:
        raise ImportError(
            "distributed training needs Dask: pip install 'skimlearn[dask]'"
        ) from error
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError as error:
        raise ClusterError(
            "there is no Dask cluster: make a client first, e.g. "
            "client = dask.distributed.Client() for one on this machine"
        ) from error


def _addresses(client: Any) -> list[str]:
    return sorted(client.scheduler_info(n_workers=-1).get("workers", ()))


def _same(value: Any) -> Any:
    return value


def _second(pair: Any) -> Any:
    return pair[1]
