"""The forms of the sweep with the distributions of their shapes, for draws.py: norms, losses, reductions and lookups.

Each function draws the operands and options of one form. torch_forms.py, jax_forms.py and bench/sweep/ compute it.
draw_moves.py and draw_products.py have the others.
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
