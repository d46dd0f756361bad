"""No noise is used twice: not in a thread, a forked process or a copy; and no key is shown."""

import copy
import os
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from pairdp.privacy import NoiseReuseError, NoiseSource
from tests.privacy.mechanisms.draws import first_draws


def test_a_stream_is_handed_out_once() -> None:
    source = NoiseSource(7)
    source.stream("noise", 1)
    with pytest.raises(NoiseReuseError, match="noise/1 was already handed out"):
        source.stream("noise", 1)
    source.stream("noise", 2)


def test_a_child_is_handed_out_once() -> None:
    source = NoiseSource()
    source.child("fold", 1)
    with pytest.raises(NoiseReuseError, match="fold/1 was already handed out"):
        source.child("fold", 1)


def test_a_child_refuses_reuse_as_well() -> None:
    child = NoiseSource().child("fold")
    child.stream("noise")
    with pytest.raises(NoiseReuseError):
        child.stream("noise")


@pytest.mark.parametrize("step", [np.int64(1), np.uint8(1)])
def test_the_same_number_of_another_type_is_the_same_stream(step: Any) -> None:
    source = NoiseSource(7)
    source.stream("noise", 1)
    with pytest.raises(NoiseReuseError):
        source.stream("noise", step)


class SetThatYields(set[bytes]):
    """Lets other threads run between looking a name up and adding it."""

    def __contains__(self, name: object) -> bool:
        found = super().__contains__(name)
        time.sleep(1e-3)
        return found


def test_only_one_of_many_threads_gets_a_stream() -> None:
    source, threads = NoiseSource(), 8
    source._given = SetThatYields()
    together = threading.Barrier(threads)

    def claim(name: int) -> bool:
        together.wait()
        try:
            source.stream("noise", name)
        except NoiseReuseError:
            return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        for name in range(10):
            assert sum(pool.map(claim, [name] * threads)) == 1


# --- forks ----------------------------------------------------------------------------------

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
# Newer Pythons warn when a process with threads forks; the child here only draws and exits.
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def in_forked_child(task: Callable[[], list[int]]) -> list[int]:
    """Return what a task gives in a forked copy of this process."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writable, b"".join(word.to_bytes(8, "little") for word in task()))
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    assert answer, "the forked process failed"
    return [int.from_bytes(answer[at : at + 8], "little") for at in range(0, len(answer), 8)]


@needs_fork
@forks
def test_a_forked_process_never_shares_the_noise_of_an_unseeded_source() -> None:
    source = NoiseSource()
    children = [in_forked_child(lambda: first_draws(source)) for _ in range(2)]
    words = [*children[0], *children[1], *first_draws(source)]
    assert len(words) == 12
    assert len(set(words)) == 12


@needs_fork
@forks
def test_a_forked_process_never_shares_the_noise_of_a_child_source() -> None:
    source = NoiseSource()
    before = source.child("before")

    def both() -> list[int]:
        return first_draws(before) + first_draws(source.child("after"))

    words = in_forked_child(both) + both()
    assert len(set(words)) == 16


@needs_fork
@forks
def test_a_process_forked_from_a_forked_one_differs_again() -> None:
    source = NoiseSource()

    def both_generations() -> list[int]:
        own = first_draws(source, 0)
        return in_forked_child(lambda: first_draws(source, 1)) + own + first_draws(source, 1)

    words = in_forked_child(both_generations) + first_draws(source, 0) + first_draws(source, 1)
    assert len(set(words)) == 20


@needs_fork
@forks
def test_a_seeded_source_gives_the_same_in_every_process() -> None:
    assert in_forked_child(lambda: first_draws(NoiseSource(9))) == first_draws(NoiseSource(9))


@needs_fork
@forks
def test_a_forked_process_still_refuses_reuse() -> None:
    source = NoiseSource()

    def reuse() -> list[int]:
        source.stream("noise")
        try:
            source.stream("noise")
        except NoiseReuseError:
            return [1]
        return [0]

    assert in_forked_child(reuse) == [1]


# --- secrecy --------------------------------------------------------------------------------

COPIES: list[Callable[[NoiseSource], object]] = [
    copy.copy,
    copy.deepcopy,
    lambda source: copy.deepcopy({"source": [source]}),
    *(lambda source, p=p: pickle.dumps(source, p) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
]


@pytest.mark.parametrize("make_copy", COPIES)
@pytest.mark.parametrize("seed", [None, 7])
def test_a_source_cannot_be_copied_or_pickled(make_copy: Any, seed: int | None) -> None:
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        make_copy(NoiseSource(seed))
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        make_copy(NoiseSource(seed).child("fold"))


def test_the_repr_of_a_source_does_not_depend_on_its_key() -> None:
    for first, second in [(NoiseSource(), NoiseSource()), (NoiseSource(1), NoiseSource(987654))]:
        assert repr(first) == repr(second)
        assert str(first) == str(second)
        assert first.description == second.description


def test_description_tells_a_seeded_source_from_a_secure_one() -> None:
    assert "seed" in NoiseSource(1).description
    assert "seed" not in NoiseSource().description
    assert NoiseSource(1).child("fold").description == NoiseSource(1).description
    assert repr(NoiseSource(1)) != repr(NoiseSource())
