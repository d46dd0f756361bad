"""The source of random numbers: one secret key, and an independent stream for each purpose.

Streams are ChaCha20 generators whose keys are derived from one master key and the stream's name by
keyed BLAKE2b. Different names give independent streams, so the number of values drawn from one does
not affect another. No name is handed out twice, so no two steps or fits share noise.
"""

from __future__ import annotations

import hashlib
import numbers
import os
import secrets
import threading
from typing import NoReturn

import numpy as np
from randomgen import ChaCha

from pairdp._checks import text

_KEY_BYTES = 32
UNDRAWN = "not drawn yet"
SECURE = "ChaCha20 keyed by the operating system"
SEEDED = "ChaCha20 from a given seed (for study; no privacy against who knows the seed)"


class NoiseReuseError(RuntimeError):
    """A stream was requested a second time: its noise would be used twice."""


class Stream(np.random.Generator):
    """A generator that cannot be copied: a copy would draw the same noise again.

    It must not be shared across a fork either: request streams in the process that uses them.
    """

    def __reduce__(self) -> NoReturn:
        raise TypeError("a noise stream cannot be pickled or copied: a copy would repeat its noise")

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


class NoiseSource:
    """A family of independent random streams.

    Parameters
    ----------
    seed : int, optional
        By default the key comes from the operating system, and streams are cryptographically
        secure. With a seed they are reproducible, for studies and tests; anyone who knows the
        seed can subtract the noise.

    Examples
    --------
    >>> source = NoiseSource(seed=7)
    >>> sampling = source.stream("sampling")
    >>> first, second = source.stream("noise", 0), source.stream("noise", 1)
    >>> source.stream("noise", 1)
    Traceback (most recent call last):
    ...
    pairdp.privacy.mechanisms.noise_source.NoiseReuseError: the stream noise/1 was ...
    """

    def __init__(self, seed: int | None = None) -> None:
        if seed is None:
            key = secrets.token_bytes(_KEY_BYTES)
        else:
            key = _derive(b"", b"seed", _seed_bytes(seed))
        self._start(key, seeded=seed is not None)

    def _start(self, key: bytes, seeded: bool) -> None:
        self._key = key
        self._seeded = seeded
        self._given: set[bytes] = set()
        self._lock = threading.Lock()
        self._process = os.getpid()

    @classmethod
    def from_random_state(
        cls, random_state: int | np.random.RandomState | np.random.Generator | None
    ) -> NoiseSource:
        """Return a source for scikit-learn's ``random_state`` argument.

        An int or None is the seed. A generator is advanced, so each call gives another source.
        """
        if random_state is None or isinstance(random_state, int):
            return cls(random_state)
        if isinstance(random_state, np.integer):
            return cls(int(random_state))
        if isinstance(random_state, np.random.RandomState):
            words = random_state.randint(0, 2**32, size=8, dtype=np.uint32)
        elif isinstance(random_state, np.random.Generator):
            words = random_state.integers(0, 2**32, size=8, dtype=np.uint32)
        else:
            raise TypeError(
                "random_state must be None, an int, a numpy RandomState or a numpy Generator, "
                f"got {type(random_state).__name__}"
            )
        return cls(int.from_bytes(words.tobytes(), "little"))

    @property
    def is_secure(self) -> bool:
        """Whether the key came from the operating system."""
        return not self._seeded

    @property
    def description(self) -> str:
        """The description for certificates, without the key or the seed."""
        return SEEDED if self._seeded else SECURE

    def stream(self, purpose: str, *path: int | str) -> np.random.Generator:
        """Return the generator for one purpose, such as ``stream("noise", step)``.

        Raises
        ------
        NoiseReuseError
            If the same stream was handed out before.
        """
        return Stream(ChaCha(key=self._claim(b"stream", purpose, path)))

    def child(self, purpose: str, *path: int | str) -> NoiseSource:
        """Return an independent source, for code that names its own streams."""
        key = self._claim(b"child", purpose, path)
        child = NoiseSource.__new__(NoiseSource)
        child._start(key.to_bytes(_KEY_BYTES, "little"), self._seeded)
        return child

    def _claim(self, kind: bytes, purpose: str, path: tuple[int | str, ...]) -> int:
        name = _encode((text("purpose", purpose), *path))
        if os.getpid() != self._process:
            self._leave_parent()
        with self._lock:
            claimed = kind + b"\0" + name
            if claimed in self._given:
                shown = "/".join(map(str, (purpose, *path)))
                raise NoiseReuseError(
                    f"the stream {shown} was already handed out: using its noise twice would "
                    "void the guarantee; give each step its own name, or use a child source"
                )
            self._given.add(claimed)
            return int.from_bytes(_derive(self._key, kind, name), "little")

    def _leave_parent(self) -> None:
        """Take a new key after a fork: two processes must not share noise.

        A seeded source keeps its key, so that it stays reproducible. The lock is replaced too,
        since a thread of the parent may hold it.
        """
        self._lock = threading.Lock()
        if not self._seeded:
            self._key = _derive(self._key, b"fork", secrets.token_bytes(_KEY_BYTES))
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"NoiseSource({'seeded' if self._seeded else 'secure'})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a NoiseSource holds a secret key and cannot be pickled or copied: a copy would "
            "repeat its noise; use a child source instead"
        )

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


def _seed_bytes(seed: int) -> bytes:
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"seed must be an integer or None, got {seed!r}")
    value = int(seed)
    if value < 0:
        raise ValueError(f"seed must be at least 0, got {value}")
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "little")


def _encode(parts: tuple[int | str, ...]) -> bytes:
    """Return an encoding that no two different paths share."""
    pieces = []
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, numbers.Integral | str):
            raise TypeError(f"the name of a stream must be strings and integers, got {part!r}")
        kind = b"s" if isinstance(part, str) else b"i"
        body = (part if isinstance(part, str) else str(int(part))).encode()
        pieces.append(kind + len(body).to_bytes(8, "little") + body)
    return b"".join(pieces)


def _derive(key: bytes, kind: bytes, message: bytes) -> bytes:
    return hashlib.blake2b(message, key=key, person=kind, digest_size=_KEY_BYTES).digest()
