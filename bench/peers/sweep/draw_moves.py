"""Forms that move elements, and chains of functions of elements, for draws.py. See draw_forms.py."""
from draws import form


# Moves of elements.


@form("layouts", wrt=("x",))
def rope(m):
    batch, positions, heads, width = m.size(1, 16), m.size(1, 2048), m.size(1, 32), m.rng.choice([32, 48, 64, 80, 96, 128])
    m.y = [batch, positions, heads, width]
    m.normal("x", m.y)
    m.normal("cos", [positions, 1, width // 2])
    m.normal("sin", [positions, 1, width // 2])


def halved(m):
    rows, columns = m.matrix(0.3, longest=32768)
    m.normal("x", [rows, 2 * columns])
    m.y = [rows, columns]


@form("layouts", wrt=("x",))
def swiglu(m):
    halved(m)


@form("layouts", wrt=("x",))
def geglu(m):
    halved(m)


@form("layouts")
def add_transposed(m):
    rows, columns = m.matrix(0.3)
    m.normal("x", [rows, columns])
    m.normal("t", [columns, rows])


@form("layouts")
def permute(m):
    rank = m.rng.randint(2, 4)
    shape, permutation = m.shape(rank, 0.5), list(range(rank))
    while permutation == sorted(permutation):
        m.rng.shuffle(permutation)
    m.normal("x", shape)
    m.options["permutation"] = permutation


@form("layouts")
def heads_apart(m):
    heads, width = m.size(1, 32), m.rng.choice([32, 48, 64, 80, 96, 128])
    m.normal("x", [m.size(1, 32), m.size(1, 2048), heads * width])
    m.options["heads"] = heads


@form("layouts")
def concat(m):
    rank = m.rng.randint(1, 4)
    dim, shape = m.rng.randrange(rank), m.shape(rank, 0.15)
    m.options["dim"] = dim
    for i in range(m.rng.randint(2, 4)):
        part = list(shape)
        part[dim] = m.size(1, 2 * shape[dim])
        m.normal(f"x{i}", part)


@form("layouts")
def slice_pad(m):
    rank = m.rng.randint(2, 3)
    shape = m.shape(rank, 0.4)
    starts = [m.rng.randint(0, size // 4) for size in shape]
    m.normal("x", shape)
    m.options |= {"starts": starts, "limits": [size - m.rng.randint(0, (size - 1) // 4) for size in shape],
                  "low": [m.rng.randint(0, 5) for _ in shape], "high": [m.rng.randint(0, 5) for _ in shape]}
    m.whole = False


@form("layouts")
def flip(m):
    rank = m.rng.randint(1, 3)
    m.normal("x", m.shape(rank, 0.4))
    m.options["dims"] = sorted(m.rng.sample(range(rank), m.rng.randint(1, rank)))


@form("layouts")
def roll(m):
    rank = m.rng.randint(1, 3)
    shape, dim = m.shape(rank, 0.4), m.rng.randrange(rank)
    m.normal("x", shape)
    m.options |= {"dim": dim, "shift": m.rng.randint(1, max(1, shape[dim] - 1))}


@form("layouts")
def strided_slice(m):
    shape = m.shape(m.rng.randint(1, 3), 0.8)
    strides = [m.rng.choice([1, 2, 2, 3, 4]) for _ in shape]
    m.normal("x", shape)
    m.options |= {"starts": [m.rng.randrange(min(size, stride)) for size, stride in zip(shape, strides, strict=True)],
                  "strides": strides}
    m.whole = False


@form("layouts")
def cast_scale(m):
    m.normal("x", m.shape(m.rng.randint(1, 3), 0.5))
    m.options["scale"] = 0.5


# Chains of functions of elements.


@form("elements", wrt=("x", "z"))
def chain(m):
    m.y = m.shape(m.rng.randint(1, 3), 0.25)
    m.normal("x", m.y)
    m.normal("z", m.y)


def with_bias(m, share=0.25):
    rows, columns = m.matrix(share)
    m.y = [rows, columns]
    m.normal("x", m.y)
    m.normal("bias", [columns])


@form("elements", wrt=("x", "bias"))
def bias_gelu_residual(m):
    with_bias(m)
    m.normal("residual", m.y)


@form("elements", wrt=("x", "bias"))
def bias_relu(m):
    with_bias(m)


@form("elements", wrt=("x",))
def squared_relu(m):
    m.y = m.shape(m.rng.randint(1, 3), 0.3)
    m.normal("x", m.y)


@form("elements")
def masked_fill(m):
    shape = m.shape(m.rng.randint(1, 3), 0.3)
    m.normal("x", shape)
    m.truth("mask", shape, 0.8)


@form("elements")
def outer_sum(m):
    rows, columns = m.matrix(0.4)
    m.normal("a", [rows])
    m.normal("b", [columns])
    m.normal("c", m.rng.choice([[rows, columns], [columns], [rows, 1]]))


@form("elements", wrt=("x",))
def dropout_residual(m):
    m.y = m.shape(m.rng.randint(1, 3), 0.25)
    m.normal("x", m.y)
    m.normal("residual", m.y)
    m.options["probability"] = m.rng.choice([0.1, 0.2, 0.5])


@form("elements")
def quantize_rows(m):
    m.normal("x", m.matrix(0.5))


@form("elements", wrt=("x", "scale", "shift"))
def modulate(m):
    batch, positions, width = m.size(1, 64), m.size(1, 4096), m.size(3, 2048)
    m.y = [batch, positions, width]
    m.normal("x", m.y)
    m.normal("scale", [batch, width])
    m.normal("shift", [batch, width])


@form("elements")
def tanh_clip(m):
    m.normal("x", m.shape(m.rng.randint(1, 3), 0.5))


@form("elements")
def lerp(m):
    shape = m.shape(m.rng.randint(1, 3), 0.25)
    m.normal("x", shape)
    m.normal("z", shape)
    m.normal("gate", shape[-1:])
