"""Positions in tables of many visual words times many classes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct
from jax.extend.core import jaxprs_in_params

from topicture.corpus.batches import Image, Tokens
from topicture.models.classes.terms import cells, region_log_lik
from topicture.models.classes.values import Tables
from topicture.models.em import passes


@passes.precision()
def test_cells_beyond_32_bits():
    rows, columns = np.array([0, 70_000, 99_999], np.int32), np.array([5, 6, 39_999], np.int32)
    found = cells(jnp.asarray(rows), jnp.asarray(columns), 40_000)
    assert found.tolist() == [5, 2_800_000_006, 3_999_999_999]


@passes.precision()
def test_no_product_of_ids_in_32_bits():
    """A table of 10^5 visual words and 4 * 10^4 classes would take 32 GB, so only the program is looked at."""
    image = Image(
        **dict.fromkeys(Image._fields)
        | {"bags": Tokens(ShapeDtypeStruct((3, 8), np.int32), ShapeDtypeStruct((3, 8), np.float64))}
    )
    tables = Tables(
        **dict.fromkeys(Tables._fields) | {"log_mu": ShapeDtypeStruct((100_000, 40_000), np.float64)}
    )
    program = jax.make_jaxpr(region_log_lik)(tables, image, ShapeDtypeStruct((4,), np.int32))
    products = [product for product in _products(program.jaxpr) if product.dtype.kind == "i"]
    assert products
    assert all(product.dtype == np.int64 for product in products)


def _products(program):
    for equation in program.eqns:
        if equation.primitive.name == "mul":
            yield equation.outvars[0].aval
        for inner in jaxprs_in_params(equation.params):
            yield from _products(inner)
