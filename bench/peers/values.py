"""Input data and initial weights from splitmix64, which any language can reproduce.

measure.py gives the same functions to the scripts that pin themselves to cores.
"""
import numpy as np


def uniform(seed, shape, scale=1.0, first=0):
    """Returns floats in [-scale, scale). Element i is the result of splitmix64 for the number first + i."""
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = (np.uint64(seed) << np.uint64(32)) + np.arange(first, first + count, dtype=np.uint64)
        z = z * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    unit = (z >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
    return ((unit * np.float32(2) - np.float32(1)) * np.float32(scale)).reshape(shape)


def integers(seed, shape, bound, first=0):
    """Returns integers in [0, bound) from the same generator."""
    unit = uniform(seed, shape, first=first) * np.float32(0.5) + np.float32(0.5)
    return np.minimum((unit * bound).astype(np.int64), bound - 1)
