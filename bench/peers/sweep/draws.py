"""Draws forms with the shapes of their operands from a seed. Needs the standard library alone.

    draws = make(seed=7, count=200)     # A list of dictionaries, one a draw.
    write(draws, path)                  # For sinter_bench_sweep, torch_worker.py and jax_worker.py.

A draw depends on the seed and its index alone, so a longer list begins with a shorter one. No size is chosen by hand:
each comes from a logarithmic distribution, as it is, or rounded to a power of two, a multiple of 64 or 8, or a prime.
draw_forms.py, draw_moves.py and
draw_products.py have the forms.
"""
import json
import math
import random

FORMS = {}  # Name: (kind, function, operands with gradients). Filled by the imports at the end.
SIZE_OF = {"f32": 4, "bf16": 2, "i64": 8, "i32": 4, "i1": 1, "i8": 1}
FEWEST, MOST = 2 ** 10, 2 ** 27  # Elements of all operands of a draw, with `dy`.
SHORTEST_ROW, LONGEST_ROW = 3, 300_000
MOST_ATTEMPTS = 200


class Maker:
    """Collects the operands and options of one draw. `y` is the shape of the first result, None for a scalar."""

    def __init__(self, rng, dtype, largest):
        self.rng, self.dtype, self.largest = rng, dtype, largest
        self.operands, self.options, self.y, self.whole = [], {}, None, True

    def add(self, name, shape, kind, dtype, scale=1.0, high=0):
        self.operands.append({"name": name, "dtype": dtype, "shape": [int(size) for size in shape], "kind": kind,
                              "scale": scale, "high": high})

    def normal(self, name, shape, scale=1.0):
        self.add(name, shape, "normal", self.dtype, scale)

    def integers(self, name, shape, high, dtype="i32"):
        self.add(name, shape, "whole", dtype, high=high)

    def truth(self, name, shape, probability):
        self.add(name, shape, "truth", "i1", probability)

    def size(self, low, high):
        """Returns a size from `low` to `high`."""
        low, high = min(low, high), max(low, high)
        return styled(self.rng, math.exp(self.rng.uniform(math.log(low), math.log(high + 1))), low, high)

    def total(self, share=1.0):
        """Returns a number of elements for a tensor of which a draw has 1 / share: half the draws above 2^20."""
        low, high = math.log2(min(FEWEST, self.largest * share)), math.log2(self.largest * share)
        return 2 ** (low + (high - low) * self.rng.random() ** 0.5)

    def shape(self, rank, share=0.25):
        """Returns a shape of this rank, whose elements are split over its dimensions at random."""
        total = self.total(share)
        cuts = sorted(self.rng.random() for _ in range(rank - 1))
        parts = [b - a for a, b in zip([0, *cuts], [*cuts, 1], strict=True)]
        return [styled(self.rng, total ** part, 1, LONGEST_ROW) for part in parts]

    def matrix(self, share=0.25, longest=LONGEST_ROW, shortest=SHORTEST_ROW):
        """Returns rows and columns: rows as short as 3 or as long as 300,000, and few or many of them."""
        total = self.total(share)
        columns = self.size(shortest, max(shortest, min(longest, int(total))))
        return [styled(self.rng, max(1, total / columns), 1, 2 ** 25), columns]

    def image(self, share=0.25, smallest=2):
        """Returns batch, channels, height and width of images."""
        height, width = self.size(smallest, 128), self.size(smallest, 128)
        channels = self.size(1, 512)
        return [styled(self.rng, max(1, self.total(share) / (channels * height * width)), 1, 512), channels, height, width]


def is_prime(number):
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def styled(rng, value, low, high):
    """Returns a whole number near `value`, from `low` to `high`: any, a power of two, a multiple, or a prime."""
    style, number = rng.random(), max(1, int(value))
    if style < 0.25:
        number = 2 ** int(math.log2(number))
    elif style < 0.45 and number >= 64:
        number -= number % 64
    elif style < 0.6 and number >= 8:
        number -= number % 8
    elif style < 0.75:
        while number > 2 and not is_prime(number):
            number -= 1
    return max(low, min(high, number))


def form(kind, wrt=(), plain=True, dtypes=("f32", "bf16")):
    """Registers a form, and with operands `wrt` the form with their gradients, NAME_grad; alone unless `plain`."""
    def register(function):
        name = function.__name__
        if plain:
            FORMS[name] = (kind, function, (), dtypes)
        if wrt:
            FORMS[name + "_grad"] = (kind, function, wrt, dtypes)
        return function
    return register


def elements(shape):
    return math.prod(shape)


def elements_of(draw):
    return sum(elements(operand["shape"]) for operand in draw["operands"])


def draw_one(seed, index, names=None, largest=MOST):
    """Returns the draw of this index: the first attempt whose operands fit."""
    rng = random.Random(f"{seed}/{index}")
    name = rng.choice(sorted(names or FORMS))
    kind, function, wrt, dtypes = FORMS[name]
    dtype = rng.choice(dtypes)
    for _ in range(MOST_ATTEMPTS):
        maker = Maker(rng, dtype, largest)
        function(maker)
        if wrt and maker.y is not None:
            maker.normal("dy", maker.y)
        if FEWEST <= sum(elements(operand["shape"]) for operand in maker.operands) <= largest:
            return {"id": index, "name": name, "form": function.__name__, "kind": kind, "dtype": dtype,
                    "operands": maker.operands, "wrt": list(wrt), "whole": maker.whole, "options": maker.options}
    raise ValueError(f"the form {name} has no shapes from {FEWEST} to {largest} elements")


def make(seed, count, names=None, largest=MOST):
    """Returns `count` draws, of the named forms or all. Another `largest` number of elements gives other draws."""
    unknown = set(names or ()) - set(FORMS)
    if unknown:
        raise ValueError(f"no form {', '.join(sorted(unknown))}; there are {', '.join(sorted(FORMS))}")
    return [draw_one(seed, index, names, largest) for index in range(count)]


def write(draws, path):
    path.write_text("".join(json.dumps(draw) + "\n" for draw in draws), encoding="utf-8")


def read(path):
    with open(path, encoding="utf-8") as lines:
        return {draw["id"]: draw for draw in map(json.loads, lines)}


def sizes(draw, most=3):
    """Returns the shapes of the first operands and the options, for people."""
    shown = [f"{operand['name']}[{','.join(map(str, operand['shape']))}]" for operand in draw["operands"][:most]]
    if len(draw["operands"]) > most + 1:
        shown.append(f"... {len(draw['operands'])} operands")
    options = [f"{key}={value}".replace(" ", "") for key, value in draw["options"].items()]
    return " ".join([draw["dtype"], *shown, *options])


# They register the forms, with the names above.
import draw_forms  # noqa: E402, F401
import draw_moves  # noqa: E402, F401
import draw_products  # noqa: E402, F401
