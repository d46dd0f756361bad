"""The noise source: a sound cipher, independent streams, and no noise used twice."""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from randomgen import ChaCha

from pairdp.privacy import NoiseReuseError, NoiseSource
from tests.privacy.mechanisms.draws import draws, first_draws

# A standard normal exceeds this with probability 4e-9.
FAR_OUT = 6.0


def key_of(stream: np.random.Generator) -> bytes:
    return bytes(stream.bit_generator.state["state"]["keysetup"].astype("<u4").tobytes())


# --- the cipher -----------------------------------------------------------------------------

# Key, number of blocks to skip, keystream block: RFC 8439, appendix A.1, vectors 1 to 4.
KEYSTREAM = [
    (
        bytes(32),
        0,
        (
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        ),
    ),
    (
        bytes(32),
        1,
        (
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
            "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
        ),
    ),
    (
        bytes(31) + b"\x01",
        1,
        (
            "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
            "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"
        ),
    ),
    (
        b"\x00\xff" + bytes(30),
        2,
        (
            "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
            "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"
        ),
    ),
]


@pytest.mark.parametrize(("key", "skipped", "block"), KEYSTREAM)
def test_the_dependency_generates_the_published_keystream(
    key: bytes, skipped: int, block: str
) -> None:
    cipher = ChaCha(key=int.from_bytes(key, "little"))
    words = cipher.random_raw(8 * (skipped + 1))[8 * skipped :]
    assert words.astype("<u8").tobytes().hex() == block


def test_first_word_of_the_zero_key() -> None:
    assert int(ChaCha(key=0).random_raw()) == 0x903DF1A0ADE0B876


def test_streams_are_that_cipher_with_all_twenty_rounds_from_its_first_block() -> None:
    stream = NoiseSource(seed=1).stream("noise")
    key = int.from_bytes(key_of(stream), "little")
    assert stream.bit_generator.state["state"]["rounds"] == 20
    assert key.bit_length() > 200
    assert draws(stream) == draws(np.random.Generator(ChaCha(key=key)))


# --- reproducibility ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 7, 2**32, 2**64 + 1, 2**300])
def test_a_seed_gives_the_same_streams_again(seed: int) -> None:
    first, second = NoiseSource(seed), NoiseSource(seed)
    assert first_draws(first, 3) == first_draws(second, 3)
    assert first_draws(first.child("fold", 1)) == first_draws(second.child("fold", 1))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 2**70), st.integers(0, 2**70))
def test_two_seeds_give_two_sources(first: int, second: int) -> None:
    same = first_draws(NoiseSource(first)) == first_draws(NoiseSource(second))
    assert same == (first == second)


def test_seeds_that_share_bytes_are_not_confused() -> None:
    seeds = [0, 1, 2**8, 2**32, 2**32 + 1, 2**63, 2**64, 2**64 + 1, 2**256, 2**256 + 1]
    assert len({tuple(first_draws(NoiseSource(seed))) for seed in seeds}) == len(seeds)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_a_numpy_integer_is_the_same_seed(kind: type) -> None:
    assert first_draws(NoiseSource(kind(7))) == first_draws(NoiseSource(7))


def test_unseeded_sources_never_agree() -> None:
    seen = [word for _ in range(200) for word in first_draws(NoiseSource())]
    assert len(set(seen)) == len(seen)


def test_an_unseeded_source_is_not_moved_by_the_global_seed() -> None:
    np.random.seed(0)  # noqa: NPY002
    first = first_draws(NoiseSource())
    np.random.seed(0)  # noqa: NPY002
    assert first_draws(NoiseSource()) != first


def test_only_an_unseeded_source_and_its_children_are_secure() -> None:
    assert NoiseSource().is_secure
    assert NoiseSource().child("fold").is_secure
    assert not NoiseSource(0).is_secure
    assert not NoiseSource(0).child("fold").is_secure


# --- independence ---------------------------------------------------------------------------


def many_streams(source: NoiseSource) -> Iterator[np.random.Generator]:
    for index in range(200):
        yield source.stream("noise", index)
        yield source.stream("sampling", index)
        yield source.stream("noise", str(index))
        yield source.stream("noise", index, 0)
        yield source.stream(f"noise{index}")
        yield source.child("noise", index).stream("noise", index)
        yield source.child("noise", index, 0).stream("noise")


def test_no_two_streams_share_an_output() -> None:
    # 70 000 words of 64 bits: two of them agree by chance with probability 1.4e-10.
    words = [word for stream in many_streams(NoiseSource(3)) for word in draws(stream, 50)]
    assert len(words) == 70_000
    assert len(set(words)) == len(words)


def test_drawing_more_of_one_stream_never_shifts_another() -> None:
    idle, busy = NoiseSource(5), NoiseSource(5)
    expected = [first_draws(idle, step) for step in range(3)]
    busy.stream("sampling").normal(size=1000)
    busy.child("fold").stream("noise").normal(size=1000)
    found = []
    for step in range(3):
        stream = busy.stream("noise", step)
        found.append(draws(stream))
        stream.normal(size=100 * step)
    assert found == expected


def test_the_order_of_asking_does_not_matter() -> None:
    forwards, backwards = NoiseSource(5), NoiseSource(5)
    expected = [first_draws(forwards, step) for step in range(5)]
    assert [first_draws(backwards, step) for step in reversed(range(5))] == expected[::-1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("a", "b"), ("ab",)),
        (("a", "b"), ("a/b",)),
        (("a", "bc"), ("ab", "c")),
        (("a", 1), ("a", "1")),
        (("a",), ("a", "")),
        (("a", 1, 2), ("a", 12)),
        (("a", 1), ("a", -1)),
        (("a", "s"), ("as",)),
        (("a\0b",), ("a", "b")),
        (("a", "b"), ("asb",)),
        (("a", 1), ("ai1",)),
    ],
)
def test_similar_names_give_different_streams(first: Any, second: Any) -> None:
    source = NoiseSource(11)
    assert draws(source.stream(*first)) != draws(source.stream(*second))


PATHS = st.lists(st.one_of(st.integers(-20, 20), st.text("ais1-/\0é", max_size=3)), max_size=3)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PATHS, PATHS)
def test_two_paths_are_one_stream_only_when_equal(first: list[Any], second: list[Any]) -> None:
    source = NoiseSource(11)
    words = first_draws(source, *first)
    if first == second:
        with pytest.raises(NoiseReuseError):
            source.stream("noise", *second)
    else:
        assert first_draws(source, *second) != words


def test_a_stream_and_a_child_of_the_same_name_are_two_things() -> None:
    source = NoiseSource(11)
    words = draws(source.stream("a"))
    assert draws(source.child("a").stream("a")) != words
    assert draws(NoiseSource(11).child("a", "b").stream("c")) != draws(
        NoiseSource(11).child("a").stream("b", "c")
    )


def test_the_key_of_a_stream_is_not_that_of_the_child_of_its_name() -> None:
    source = NoiseSource(11)
    assert key_of(source.stream("a")) != source.child("a")._key


def stream_keys(source: NoiseSource, count: int) -> NDArray[np.uint8]:
    """Return the keys of streams with consecutive names, one row of 256 bits each."""
    keys = b"".join(key_of(source.stream("noise", step)) for step in range(count))
    return np.unpackbits(np.frombuffer(keys, np.uint8).reshape(count, 32), axis=1)


def standardised(ones: Any, trials: int) -> Any:
    return (ones - trials / 2) / np.sqrt(trials / 4)


@pytest.mark.parametrize("source", [NoiseSource(0), NoiseSource()], ids=["seeded", "secure"])
def test_key_bits_look_random(source: NoiseSource) -> None:
    bits = stream_keys(source, 1000).astype(np.int64)
    assert bits.shape == (1000, 256)
    assert abs(standardised(bits.sum(), bits.size)) < FAR_OUT
    assert np.abs(standardised(bits.sum(axis=0), 1000)).max() < FAR_OUT
    assert np.abs(standardised(bits.sum(axis=1), 256)).max() < FAR_OUT
    changed = np.abs(np.diff(bits, axis=0))
    assert np.abs(standardised(changed.sum(axis=1), 256)).max() < FAR_OUT


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", ["x", 1.5, 1.0, True, False, b"1", [1], np.float64(1)])
def test_a_seed_that_is_not_an_integer_is_refused(seed: Any) -> None:
    with pytest.raises(TypeError, match="seed must be an integer or None"):
        NoiseSource(seed)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        NoiseSource(-1)


@pytest.mark.parametrize("part", [1.5, None, True, b"x", ("a",), np.float64(1)])
def test_a_path_of_other_types_than_strings_and_integers_is_refused(part: Any) -> None:
    source = NoiseSource(1)
    with pytest.raises(TypeError, match="must be strings and integers"):
        source.stream("noise", part)
    with pytest.raises(TypeError, match="must be strings and integers"):
        source.child("noise", part)


@pytest.mark.parametrize("purpose", [1, None, b"noise", ("noise",)])
def test_a_purpose_that_is_no_string_is_refused(purpose: Any) -> None:
    with pytest.raises(TypeError, match="purpose must be a string"):
        NoiseSource(1).stream(purpose)


@pytest.mark.parametrize("purpose", ["", "  "])
def test_an_empty_purpose_is_refused(purpose: str) -> None:
    with pytest.raises(ValueError, match="purpose must not be empty"):
        NoiseSource(1).stream(purpose)


# --- random_state ---------------------------------------------------------------------------


def test_no_random_state_is_a_secure_source() -> None:
    assert NoiseSource.from_random_state(None).is_secure


@pytest.mark.parametrize("kind", [int, np.int64, np.uint32])
def test_an_integer_random_state_is_the_seed(kind: type) -> None:
    source = NoiseSource.from_random_state(kind(42))
    assert first_draws(source) == first_draws(NoiseSource(42))
    assert not source.is_secure


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_as_random_state_is_drawn_from(make: Callable[[int], Any]) -> None:
    state = make(0)
    first, second = (NoiseSource.from_random_state(state) for _ in range(2))
    again = NoiseSource.from_random_state(make(0))
    other = NoiseSource.from_random_state(make(1))
    words = first_draws(first)
    assert first_draws(again) == words
    assert first_draws(second) != words
    assert first_draws(other) != words
    assert not first.is_secure


@pytest.mark.parametrize("garbage", ["x", 1.5, [1], object(), np.random.PCG64(1), np.array([1])])
def test_any_other_random_state_is_refused(garbage: Any) -> None:
    with pytest.raises(TypeError, match="random_state must be None, an int"):
        NoiseSource.from_random_state(garbage)


def test_a_negative_random_state_is_refused() -> None:
    with pytest.raises(ValueError, match="must be at least 0"):
        NoiseSource.from_random_state(-1)


def test_a_stream_cannot_be_copied_either() -> None:
    stream = NoiseSource(1).stream("noise")
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="repeat its noise"):
            attempt(stream)
