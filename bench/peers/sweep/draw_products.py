"""Optimisers, products, attention and images, for draws.py. See draw_forms.py."""
from draws import form


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
