"""Those who work on the partitions: a Dask cluster, or this process one partition after the other.

A team has pieces of the data, and does three things with them: `each` calls a function for every
piece and leaves what it returns where it is, `total` adds up parcels on the way to the client, and
`fetch` brings values to the client. Every task costs some milliseconds of the scheduler's and the
worker's time, whatever it does, so a round has as few as possible. All functions are pure, and
every value that is given is part of the task that uses it. So Dask can compute again whatever a
lost worker held: pieces from their source, and the state of a partition from the last one that the
client has given.

The names of the tasks show in Dask's dashboard: skim-piece, skim-ascend, skim-add, ...
"""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from skimlearn.distributed._parcel import Parcel, added

__all__ = ["Cluster", "ClusterError", "Serial", "Team", "client_of", "summed"]

FAN_IN = 16  # parcels that are added up by one task
PATIENCE = 0.5  # seconds between two looks at whether to stop
NEWS = 1.0  # seconds between two looks at who works
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

    def once(self, name: str, function: Callable[..., Any], values: Any, **given: Any) -> Any:
        """function(values, **given), with what calls for all pieces have returned, in one place."""

    def share(self, name: str, value: Any) -> Any:
        """A value that all of a round's calls are given."""

    def total(self, pairs: Sequence[Any], *, light: bool = False) -> Parcel:
        """The sum of the parcels that are the second parts of pairs.

        ``light``: the first parts are so short that they may travel with the second.
        """

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

    def once(self, name: str, function: Callable[..., Any], values: Any, **given: Any) -> Any:
        """See `Team`."""
        return function(values, **given)

    def share(self, name: str, value: Any) -> Any:
        """See `Team`."""
        return value

    def total(self, pairs: Sequence[Any], *, light: bool = False) -> Parcel:
        """See `Team`."""
        return summed([_second(pair) for pair in pairs])

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
        self.known: list[str] = []  # the workers, when they were last asked for
        self.asked = -math.inf

    def fork(self) -> Cluster:
        """Another team on the same pieces: for a problem that is solved at the same time."""
        return Cluster(self.client, self.pieces, self.stop)

    @property
    def workers(self) -> int:
        """How many workers there were a moment ago."""
        return max(1, len(self._addresses()))

    def each(self, name: str, function: Callable[..., Any], *lists: Any, **given: Any) -> list[Any]:
        """See `Team`."""
        return self._map(name, function, self.pieces, *lists, **given)

    def once(self, name: str, function: Callable[..., Any], values: Any, **given: Any) -> Any:
        """See `Team`."""
        return self._submit(name, function, list(values), **given)

    def share(self, name: str, value: Any) -> Any:
        """See `Team`."""
        return self._submit(name, _same, value)

    def total(self, pairs: Sequence[Any], *, light: bool = False) -> Parcel:
        """See `Team`."""
        level, function = list(pairs), cast(Callable[..., Parcel], _seconds_added)
        if not light:
            level, function = self._map("pick", _second, level), added
        while True:
            groups = [level[k : k + FAN_IN] for k in range(0, len(level), FAN_IN)]
            level = [self._submit("add", function, group) for group in groups]
            if len(level) == 1:
                return self.fetch(level)[0]
            function = added

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
        before = set(self.known)
        addresses = self._addresses()
        if before and not before.issuperset(addresses):
            self.balance()

    def balance(self) -> None:
        """Move pieces from workers that have too many: Dask puts them where the first went."""
        addresses = self._addresses()
        if len(addresses) < 2:
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

    def _addresses(self) -> list[str]:
        """The workers; the scheduler is asked once in a while, since its answer is long."""
        if time.monotonic() - self.asked > NEWS:
            info = self.client.scheduler_info(n_workers=-1)
            self.known, self.asked = sorted(info.get("workers", ())), time.monotonic()
        return self.known

    def _submit(self, name: str, function: Callable[..., Any], *items: Any, **given: Any) -> Any:
        """One task."""
        (key,) = self._keys(name, 1)
        return self._given(self.client.submit, function, *items, key=key, **given)

    def _map(
        self, name: str, function: Callable[..., Any], *lists: Sequence[Any], **given: Any
    ) -> list[Any]:
        """A task for each item of lists that are all as long, in one message."""
        keys = self._keys(name, len(lists[0]))
        return list(self._given(self.client.map, function, *lists, key=keys, **given))

    def _keys(self, name: str, count: int) -> list[str]:
        with self.lock:
            first, self.calls = self.calls + 1, self.calls + count
        return [f"skim-{name}-{self.token}-{first + k}" for k in range(count)]

    def _given(self, give: Callable[..., Any], *items: Any, **given: Any) -> Any:
        import dask

        try:
            with dask.config.set({LARGE: "1 TiB"}):  # vectors are meant to be in the graph
                return give(*items, pure=False, **given)
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


def summed(parcels: Sequence[Parcel]) -> Parcel:
    """The sum of parcels, in the tree of `Cluster.total`: the same bits."""
    level = list(parcels)
    while True:
        level = [added(level[k : k + FAN_IN]) for k in range(0, len(level), FAN_IN)]
        if len(level) == 1:
            return level[0]


def _same(value: Any) -> Any:
    return value


def _second(pair: Any) -> Any:
    return pair[1]


def _seconds_added(pairs: Sequence[Any]) -> Parcel:
    return added([pair[1] for pair in pairs])
