"""Symmetric matrices as vectors: the same norm, and back again."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from pairdp.privacy import pack, packed_dimension, unpack

Array = NDArray[np.float64]
# Squares of these neither overflow nor underflow.
ENTRIES = st.floats(-1e100, 1e100).map(lambda entry: entry if abs(entry) > 1e-100 else 0.0)


@st.composite
def symmetric_matrices(draw: st.DrawFn, order: int | None = None) -> Array:
    size = draw(st.integers(1, 7)) if order is None else order
    upper = np.triu(draw(arrays(np.float64, (size, size), elements=ENTRIES)))
    return upper + np.triu(upper, 1).T


@st.composite
def pairs_of_symmetric_matrices(draw: st.DrawFn) -> tuple[Array, Array]:
    size = draw(st.integers(1, 6))
    return draw(symmetric_matrices(size)), draw(symmetric_matrices(size))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(symmetric_matrices())
def test_norm_of_the_vector_is_the_frobenius_norm(matrix: Array) -> None:
    norm = np.linalg.norm(matrix)
    np.testing.assert_allclose(np.linalg.norm(pack(matrix)), norm, rtol=1e-14)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(pairs_of_symmetric_matrices())
def test_inner_products_and_so_distances_are_kept(pair: tuple[Array, Array]) -> None:
    first, second = pair
    bound = np.linalg.norm(first) * np.linalg.norm(second)
    inner = float(np.sum(first * second))
    assert abs(float(pack(first) @ pack(second)) - inner) <= 1e-13 * bound


@settings(max_examples=150, deadline=None, derandomize=True)
@given(symmetric_matrices())
def test_unpack_undoes_pack(matrix: Array) -> None:
    back = unpack(pack(matrix))
    np.testing.assert_array_equal(back, back.T)
    np.testing.assert_array_equal(np.diag(back), np.diag(matrix))
    np.testing.assert_allclose(back, matrix, rtol=1e-15)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data(), st.integers(1, 7))
def test_pack_undoes_unpack(data: st.DataObject, order: int) -> None:
    vector = data.draw(arrays(np.float64, packed_dimension(order), elements=ENTRIES))
    np.testing.assert_allclose(pack(unpack(vector)), vector, rtol=1e-15)


def test_off_diagonal_entries_are_times_root_two() -> None:
    packed = pack([[1.0, 2.0], [2.0, 3.0]])
    np.testing.assert_allclose(packed, [1.0, 2.0 * math.sqrt(2), 3.0], rtol=1e-15)


def test_pack_does_not_change_its_argument() -> None:
    matrix = np.array([[1.0, 2.0], [2.0, 3.0]])
    pack(matrix)[:] = 0
    np.testing.assert_array_equal(matrix, [[1.0, 2.0], [2.0, 3.0]])


def test_whole_numbers_and_lists_are_accepted() -> None:
    np.testing.assert_array_equal(unpack(pack([[1, 2], [2, 5]])), [[1.0, 2.0], [2.0, 5.0]])
    np.testing.assert_array_equal(pack([[4]]), [4.0])


@pytest.mark.parametrize(("order", "dimension"), [(1, 1), (2, 3), (3, 6), (50, 1275)])
def test_dimension_is_that_of_the_symmetric_matrices(order: int, dimension: int) -> None:
    assert packed_dimension(order) == dimension
    assert pack(np.eye(order)).shape == (dimension,)
    assert unpack(np.ones(dimension)).shape == (order, order)


@pytest.mark.parametrize("order", [0, -1])
def test_order_below_one_is_refused(order: int) -> None:
    with pytest.raises(ValueError, match="order must be at least 1"):
        packed_dimension(order)


@pytest.mark.parametrize("order", [2.0, "2", None, True])
def test_order_that_is_not_whole_is_refused(order: Any) -> None:
    with pytest.raises(TypeError, match="order must be an integer"):
        packed_dimension(order)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 2), (4,), (), (2, 2, 2), (0, 0), (0,)])
def test_what_is_not_a_square_matrix_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="square and not empty"):
        pack(np.zeros(shape))


@pytest.mark.parametrize(
    "matrix",
    [
        [[1.0, 2.0], [3.0, 1.0]],
        [[0.0, 1.0], [-1.0, 0.0]],
        [[0.0, 1e-6], [0.0, 0.0]],
        [[0.0, 1e9], [1e9 + 1, 0.0]],
    ],
)
def test_asymmetric_matrix_is_refused(matrix: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="must be symmetric"):
        pack(matrix)


def test_asymmetric_matrix_is_refused_whatever_else_it_holds() -> None:
    with pytest.raises(ValueError, match=r"symmetric|finite"):
        pack([[math.inf, 1.0], [2.0, 0.0]])


def test_rounding_is_not_taken_for_asymmetry() -> None:
    factor = np.random.default_rng(0).normal(size=(20, 20))
    product = factor @ np.diag(np.arange(20.0)) @ factor.T
    product[0, 1] *= 1 + 1e-15
    assert pack(product).shape == (210,)


@pytest.mark.parametrize("length", [0, 2, 4, 5, 7, 9, 1274, 1276])
def test_vector_of_a_length_no_matrix_has_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=r"length d\(d\+1\)/2"):
        unpack(np.zeros(length))


@pytest.mark.parametrize("shape", [(), (1, 1), (3, 1), (1, 3), (0, 3)])
def test_unpacking_what_is_not_a_vector_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"length d\(d\+1\)/2"):
        unpack(np.zeros(shape))
