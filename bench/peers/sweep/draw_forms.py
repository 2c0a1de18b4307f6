"""The forms of the sweep with the distributions of their shapes, for draws.py.

Each function draws the operands and options of one form. torch_forms.py, jax_forms.py and bench/sweep/ compute it.
"""
from draws import form


# Norms and softmax.


def normed(m, share):
    """Adds x with rows to normalise: a matrix, or the same rows in a batch."""
    rows, columns = m.matrix(share)
    batch = m.size(1, 16)
    shape = [rows, columns] if m.rng.random() < 0.5 or rows < batch else [batch, rows // batch, columns]
    m.normal("x", shape)
    m.y = shape
    return columns


def scaled_norm(m, share=0.25):
    columns = normed(m, share)
    m.normal("scale", [columns])
    m.normal("offset", [columns])


@form("norms", wrt=("x", "scale", "offset"))
def layer_norm(m):
    scaled_norm(m)


@form("norms", wrt=("x", "residual", "scale", "offset"))
def add_layer_norm(m):
    scaled_norm(m, 0.2)
    m.normal("residual", m.y)


@form("norms", wrt=("x", "w"))
def rms_norm(m):
    m.normal("w", [normed(m, 0.25)])


@form("norms", wrt=("x", "w"))
def rms_norm_by_hand(m):
    m.normal("w", [normed(m, 0.25)])


def channels_normed(m, grouped, last=False):
    images, channels, height, width = m.image()
    if grouped:
        groups = m.rng.choice([1, 2, 4, 8, 16, 32])
        channels = groups * max(1, channels // groups)
        m.options["groups"] = groups
    m.y = [images, height, width, channels] if last else [images, channels, height, width]
    m.normal("x", m.y)
    m.normal("scale", [channels])
    m.normal("offset", [channels])


@form("norms", wrt=("x", "scale", "offset"))
def group_norm(m):
    channels_normed(m, grouped=True)


@form("norms", wrt=("x", "scale", "offset"))
def group_norm_by_hand(m):
    channels_normed(m, grouped=True)


@form("norms", wrt=("x", "scale", "offset"))
def batch_norm(m):
    channels_normed(m, grouped=False)


@form("norms", wrt=("x", "scale", "offset"))
def batch_norm_last(m):
    channels_normed(m, grouped=False, last=True)


@form("norms")
def instance_norm(m):
    channels_normed(m, grouped=False)


@form("norms", wrt=("x",))
def l2_normalize(m):
    normed(m, 0.4)


@form("softmax", wrt=("x",))
def softmax(m):
    normed(m, 0.4)


@form("softmax", wrt=("x",))
def softmax_middle(m):
    m.y = m.shape(3)
    m.normal("x", m.y)


@form("softmax", wrt=("x",))
def masked_softmax(m):
    batch, heads, queries, keys = m.size(1, 16), m.size(1, 16), m.size(1, 1024), m.size(3, 2048)
    m.y = [batch, heads, queries, keys]
    m.normal("x", m.y)
    m.truth("mask", m.rng.choice([[queries, keys], [batch, 1, 1, keys], [batch, 1, queries, keys]]), 0.8)
    m.options["scale"] = 0.125


@form("softmax", wrt=("x",))
def log_softmax(m):
    normed(m, 0.4)


@form("softmax", wrt=("x",))
def log_sum_exp(m):
    normed(m, 0.5)
    m.y = m.y[:-1]


# Losses: a scalar and its gradient.


def labelled(m):
    rows, classes = m.matrix(0.3)
    m.normal("x", [rows, classes])
    m.integers("labels", [rows], classes, "i64")


@form("losses", wrt=("x",), plain=False)
def cross_entropy(m):
    labelled(m)


@form("losses", wrt=("x",), plain=False)
def smoothed_cross_entropy(m):
    labelled(m)


def with_target(m):
    shape = m.shape(m.rng.randint(1, 3))
    m.normal("x", shape)
    m.normal("target", shape)


@form("losses", wrt=("x",), plain=False)
def bce_with_logits(m):
    with_target(m)


@form("losses", wrt=("x",), plain=False)
def smooth_l1(m):
    with_target(m)


@form("losses", wrt=("x",))
def huber(m):
    with_target(m)


@form("losses", wrt=("x",))
def mse(m):
    with_target(m)


@form("losses", wrt=("x",), plain=False)
def kl_divergence(m):
    shape = m.matrix()
    m.normal("x", shape)
    m.normal("target", shape)


# Reductions.


def reduced(m):
    rank = m.rng.randint(2, 4)
    m.normal("x", m.shape(rank, 0.8))
    m.options["dims"] = sorted(m.rng.sample(range(rank), m.rng.randint(1, rank)))


@form("reductions")
def sum_dims(m):
    reduced(m)


@form("reductions")
def max_dims(m):
    reduced(m)


@form("reductions")
def sum_of_squares(m):
    m.normal("x", m.shape(m.rng.randint(1, 3), 0.8))


@form("reductions")
def mean_variance(m):
    m.normal("x", m.matrix(0.8))


@form("reductions")
def argmax_last(m):
    m.normal("x", m.matrix(0.8))


@form("reductions")
def argmax_middle(m):
    m.normal("x", m.shape(3, 0.8))


@form("scans")
def cumsum_last(m):
    m.normal("x", m.matrix(0.4))


@form("scans")
def cumsum_first(m):
    m.normal("x", m.shape(m.rng.randint(1, 3), 0.4))


@form("reductions", wrt=("x",))
def mean_pool(m):
    batch, positions, width = m.size(1, 128), m.size(3, 4096), m.size(3, 2048)
    m.normal("x", [batch, positions, width])
    m.truth("mask", [batch, positions], 0.7)
    m.y = [batch, width]


@form("reductions")
def pairwise_distance(m):
    a, b, width = m.size(1, 4096), m.size(1, 4096), m.size(3, 512)
    while a * b * width > 2 ** 30 or a * b > m.largest:
        a, b = (a + 1) // 2, (b + 1) // 2
    m.normal("a", [a, width])
    m.normal("b", [b, width])
    m.whole = False


@form("reductions")
def cosine_similarity(m):
    shape = m.matrix(0.4)
    m.normal("a", shape)
    m.normal("b", shape)


@form("scans")
def topk(m):
    m.options["k"] = m.rng.randint(1, 8)
    m.normal("x", m.matrix(0.5, shortest=8))


# Lookups.


@form("lookups", wrt=("table",))
def embedding(m):
    words, width = m.matrix(0.2, longest=4096)
    ids = [m.size(1, 64), m.size(1, 2048)]
    while ids[0] * ids[1] * width > m.largest / 4:
        ids = [(size + 1) // 2 for size in ids]
        width = width if max(ids) > 1 else (width + 1) // 2
    m.normal("table", [words, width])
    m.integers("ids", ids, words)
    m.y, m.whole = [*ids, width], False


@form("lookups")
def gather_columns(m):
    rows, columns = m.matrix(0.4)
    m.normal("x", [rows, columns])
    m.integers("ids", [m.size(1, columns)], columns)
    m.whole = False


@form("lookups")
def take_along(m):
    rows, columns = m.matrix(0.3)
    m.normal("x", [rows, columns])
    m.integers("ids", [rows, m.size(1, columns)], columns, "i64")
    m.whole = False


@form("lookups")
def index_add(m):
    rows, width = m.matrix(0.2, longest=4096)
    count = m.size(1, max(2, int(m.total(0.2) / width)))
    m.normal("x", [rows, width])
    m.integers("ids", [count], rows)
    m.normal("updates", [count, width])


@form("lookups")
def one_hot_pick(m):
    labelled(m)


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


# Optimisers.


def updated(m, copies):
    left = m.total(1 / copies)
    for i in range(m.rng.randint(1, 40)):
        if left < 3:
            break
        total = left ** m.rng.uniform(0.1, 1)
        left -= total
        shape = [max(1, int(total))]
        if m.rng.random() < 0.7:
            columns = m.size(1, max(2, int(total ** 0.5)))
            shape = [max(1, int(total / columns)), columns]
        m.add(f"p{i}", shape, "parameter", "f32")
        m.normal(f"g{i}", shape)


@form("updates", dtypes=("f32",))
def momentum(m):
    updated(m, 4)


@form("updates", dtypes=("f32",))
def adamw(m):
    updated(m, 5)


@form("updates", dtypes=("f32",))
def clipped_sgd(m):
    updated(m, 3)


# Products.


def product_sizes(m, most=8192):
    rows, columns, inner = m.size(1, most), m.size(1, most), m.size(3, most)
    while rows * columns * inner > 2 ** 36:
        rows, columns, inner = (rows + 1) // 2, (columns + 1) // 2, (inner + 1) // 2
    return rows, columns, inner


def linear_operands(m):
    rows, columns, inner = product_sizes(m)
    m.normal("x", [rows, inner])
    m.normal("w", [inner, columns], inner ** -0.5)
    m.normal("bias", [columns])
    m.y = [rows, columns]


@form("products")
def linear_gelu(m):
    linear_operands(m)


@form("products", wrt=("x", "w", "bias"))
def linear(m):
    linear_operands(m)


@form("products")
def batched_matmul(m):
    batch = m.size(1, 256)
    rows, columns, inner = product_sizes(m, 1024)
    while batch * rows > 1 and (batch * rows * columns * inner > 2 ** 36 or batch * rows * columns > m.largest):
        batch = (batch + 1) // 2
        rows = (rows + 1) // 2 if batch == 1 else rows
    m.normal("a", [batch, rows, inner], inner ** -0.5)
    m.normal("b", [batch, inner, columns])


@form("products", wrt=("x", "w1", "b1", "w2", "b2"))
def mlp(m):
    rows, width = m.size(1, 8192), m.size(8, 2048)
    hidden = m.rng.choice([4 * width, 2 * width, m.size(8, 4096)])
    while rows > 1 and (rows * width * hidden > 2 ** 35 or rows * hidden > m.largest / 2):
        rows = (rows + 1) // 2
    m.normal("x", [rows, width])
    m.normal("w1", [width, hidden], width ** -0.5)
    m.normal("b1", [hidden])
    m.normal("w2", [hidden, width], hidden ** -0.5)
    m.normal("b2", [width])
    m.y = [rows, width]


def attention_operands(m):
    batch, positions, width = m.size(1, 16), m.size(3, 4096), m.rng.choice([32, 40, 64, 64, 80, 96, 128, 128])
    kv_heads = m.size(1, 16)
    heads = kv_heads * m.rng.choice([1, 1, 1, 2, 4])
    while batch * heads * positions * positions > min(2 ** 28, m.largest * 2):
        batch, positions = (batch + 1) // 2, positions if batch > 1 else (positions + 1) // 2
    m.y = [batch, positions, heads, width]
    m.normal("q", m.y)
    m.normal("k", [batch, positions, kv_heads, width])
    m.normal("v", [batch, positions, kv_heads, width])
    return batch, positions, heads


@form("attention", wrt=("q", "k", "v"))
def causal_attention(m):
    attention_operands(m)


@form("attention")
def biased_attention(m):
    batch, positions, heads = attention_operands(m)
    m.normal("bias", m.rng.choice([[1, heads, positions, positions], [batch, 1, positions, positions]]))


@form("attention", wrt=("q", "k", "v"))
def masked_attention(m):
    batch, positions, _ = attention_operands(m)
    m.truth("mask", m.rng.choice([[batch, 1, 1, positions], [positions, positions]]), 0.9)


# Images.


def convolved(m, last):
    images, channels, height, width = m.size(1, 32), m.size(1, 256), m.size(7, 64), m.size(7, 64)
    kernel, outputs = m.rng.choice([1, 3, 3, 5]), m.size(1, 256)
    while images > 1 and images * channels * outputs * height * width * kernel * kernel > 2 ** 34:
        images = (images + 1) // 2
    m.normal("x", [images, height, width, channels] if last else [images, channels, height, width])
    m.normal("w", [outputs, channels, kernel, kernel], (channels * kernel * kernel) ** -0.5)
    m.normal("bias", [outputs])
    m.options |= {"stride": m.rng.choice([1, 1, 2]), "padding": kernel // 2}


@form("images")
def conv_bias_relu(m):
    convolved(m, last=False)


@form("images")
def conv_bias_relu_last(m):
    convolved(m, last=True)


def pooled(m):
    shape = m.image(0.3, smallest=3)
    window = m.rng.choice([2, 3])
    stride = m.rng.choice([1, 2, window])
    m.normal("x", shape)
    m.options |= {"window": window, "stride": stride}
    m.y = [*shape[:2], *((size - window) // stride + 1 for size in shape[2:])]


@form("images", wrt=("x",))
def max_pool(m):
    pooled(m)


@form("images", wrt=("x",))
def avg_pool(m):
    pooled(m)


@form("images", wrt=("x",))
def global_avg_pool(m):
    m.normal("x", m.image(0.4))
    m.y = m.operands[0]["shape"][:2]


def resized(m):
    shape = m.image(0.1)
    height, width = (max(1, int(size * m.rng.choice([0.5, 1.5, 2, 2, 3]))) for size in shape[2:])
    m.normal("x", shape)
    m.options |= {"height": height, "width": width}
    m.y = [*shape[:2], height, width]


@form("images")
def resize_nearest(m):
    resized(m)


@form("images", wrt=("x",))
def resize_bilinear(m):
    resized(m)
