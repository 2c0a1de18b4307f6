// Ops that move elements or create them.
#include <algorithm>
#include <cmath>
#include <functional>

#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

// Returns the result whose element at `to` is the operand's element at `from(to)`.
Value Move(const Call& call, const Value& x, const std::function<Shape(const Shape& to)>& from) {
  Value r = call.Result();
  ForEachIndex(r.shape, [&](const Shape& to) { r.Copy(Offset(r.shape, to), x, Offset(x.shape, from(to))); });
  return r;
}

std::vector<Value> Iota(const Call& call) {
  Value r = call.Result();
  ForEachIndex(r.shape, [&](const Shape& at) {
    int64_t position = at[call.Int("dim")], i = Offset(r.shape, at);
    if (!call.in.empty()) position += call.in[0].ints[0];
    if (r.is_real()) {
      r.reals[i] = static_cast<double>(position);
    } else {
      r.ints[i] = position;
    }
  });
  return {r};
}

std::vector<Value> Reshape(const Call& call) {
  Value r = call.in[0];
  r.shape = call.Result().shape;
  return {r};
}

std::vector<Value> Transpose(const Call& call) {
  Shape permutation = call.Ints("permutation");
  return {Move(call, call.in[0], [&](const Shape& to) {
    Shape from(to.size());
    for (size_t i = 0; i < to.size(); ++i) from[permutation[i]] = to[i];
    return from;
  })};
}

std::vector<Value> Broadcast(const Call& call) {
  Shape dims = call.Ints("dims");
  const Value& x = call.in[0];
  return {Move(call, x, [&](const Shape& to) {
    Shape from(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) from[i] = x.shape[i] == 1 ? 0 : to[dims[i]];
    return from;
  })};
}

std::vector<Value> Slice(const Call& call) {
  Shape starts = call.Ints("starts"), strides = call.Ints("strides");
  return {Move(call, call.in[0], [&](const Shape& to) {
    Shape from(to.size());
    for (size_t d = 0; d < to.size(); ++d) from[d] = starts[d] + to[d] * strides[d];
    return from;
  })};
}

std::vector<Value> Reverse(const Call& call) {
  Shape dims = call.Ints("dims");
  const Value& x = call.in[0];
  return {Move(call, x, [&](const Shape& to) {
    Shape from = to;
    for (int64_t d : dims) from[d] = x.shape[d] - 1 - to[d];
    return from;
  })};
}

std::vector<Value> Concat(const Call& call) {
  Value r = call.Result();
  int64_t dim = call.Int("dim"), start = 0;
  for (const Value& x : call.in) {
    ForEachIndex(x.shape, [&](const Shape& from) {
      Shape to = from;
      to[dim] += start;
      r.Copy(Offset(r.shape, to), x, Offset(x.shape, from));
    });
    start += x.shape[dim];
  }
  return {r};
}

std::vector<Value> Split(const Call& call) {
  std::vector<Value> parts;
  const Value& x = call.in[0];
  int64_t dim = call.Int("dim"), start = 0;
  for (unsigned i = 0; i < call.op->getNumResults(); ++i) {
    Value part = call.Result(i);
    ForEachIndex(part.shape, [&](const Shape& to) {
      Shape from = to;
      from[dim] += start;
      part.Copy(Offset(part.shape, to), x, Offset(x.shape, from));
    });
    start += part.shape[dim];
    parts.push_back(part);
  }
  return parts;
}

std::vector<Value> Pad(const Call& call) {
  const Value& x = call.in[0];
  Shape low = call.Ints("low"), interior = call.Ints("interior");
  Value r = call.Result();
  std::fill(r.reals.begin(), r.reals.end(), call.Real("value"));
  std::fill(r.ints.begin(), r.ints.end(), static_cast<int64_t>(call.Real("value")));
  ForEachIndex(x.shape, [&](const Shape& from) {
    Shape to(from.size());
    for (size_t d = 0; d < to.size(); ++d) to[d] = low[d] + from[d] * (interior[d] + 1);
    r.Copy(Offset(r.shape, to), x, Offset(x.shape, from));
  });
  return {r};
}

// Coordinates of x: those of `indices` are replaced by `index` along `dim`. Gather reads there, scatter_add
// writes.
Shape Around(const Shape& at, int64_t dim, size_t index_rank, int64_t index) {
  Shape result(at.begin(), at.begin() + dim);
  result.push_back(index);
  result.insert(result.end(), at.begin() + dim + index_rank, at.end());
  return result;
}

std::vector<Value> Gather(const Call& call) {
  const Value &x = call.in[0], &indices = call.in[1];
  int64_t dim = call.Int("dim");
  return {Move(call, x, [&](const Shape& to) {
    Shape at(to.begin() + dim, to.begin() + dim + indices.shape.size());
    int64_t index = std::clamp<int64_t>(indices.ints[Offset(indices.shape, at)], 0, x.shape[dim] - 1);
    return Around(to, dim, indices.shape.size(), index);
  })};
}

std::vector<Value> TakeAlong(const Call& call) {
  const Value &x = call.in[0], &indices = call.in[1];
  int64_t dim = call.Int("dim");
  return {Move(call, x, [&](const Shape& to) {
    Shape from = to;
    from[dim] = std::clamp<int64_t>(indices.ints[Offset(indices.shape, to)], 0, x.shape[dim] - 1);
    return from;
  })};
}

// Combines each update with the element of x that its index names, in order.
template <typename Reals, typename Ints>
std::vector<Value> Scattered(const Call& call, const Reals& reals, const Ints& ints) {
  const Value &indices = call.in[1], &updates = call.in[2];
  int64_t dim = call.Int("dim");
  Value r = call.in[0];
  ForEachIndex(updates.shape, [&](const Shape& at) {
    Shape index_at(at.begin() + dim, at.begin() + dim + indices.shape.size());
    int64_t index = indices.ints[Offset(indices.shape, index_at)];
    if (index < 0 || index >= r.shape[dim]) return;
    int64_t to = Offset(r.shape, Around(at, dim, indices.shape.size(), index)),
            from = Offset(updates.shape, at);
    if (r.is_real()) {
      r.reals[to] = reals(r.reals[to], updates.reals[from]);
    } else {
      r.ints[to] = ints(r.ints[to], updates.ints[from]);
    }
  });
  return {r};
}

template <typename Combine>
int64_t Wrapped(int64_t x, int64_t y, const Combine& combine) {
  return static_cast<int64_t>(combine(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}

std::vector<Value> ScatterAdd(const Call& call) {
  return Scattered(
      call, [](double x, double y) { return x + y; },
      [](int64_t x, int64_t y) { return Wrapped(x, y, std::plus<uint64_t>()); });
}

std::vector<Value> Scatter(const Call& call) {
  const int64_t kind = call.Int("kind");  // set, max, min, mul
  return Scattered(
      call,
      [&](double x, double y) {
        if (kind == 0) return y;
        if (kind == 3) return x * y;
        if (std::isnan(x) || std::isnan(y)) return x + y;
        return kind == 1 ? std::max(x, y) : std::min(x, y);
      },
      [&](int64_t x, int64_t y) {
        if (kind == 0) return y;
        if (kind == 3) return Wrapped(x, y, std::multiplies<uint64_t>());
        const DType dtype = call.in[0].dtype;
        return IsLess(dtype, x, y) == (kind == 1) ? y : x;
      });
}

std::vector<Value> OneHot(const Call& call) {
  const Value& indices = call.in[0];
  Value r = call.Result();
  int64_t classes = r.shape.back();
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t index = indices.ints[i];
    if (index < 0 || index >= classes) continue;
    if (r.is_real()) {
      r.reals[i * classes + index] = 1;
    } else {
      r.ints[i * classes + index] = 1;
    }
  }
  return {r};
}

}  // namespace

void AddShapeOps(OpTable& table) {
  table["sinter.iota"] = Iota;
  table["sinter.reshape"] = Reshape;
  table["sinter.transpose"] = Transpose;
  table["sinter.broadcast"] = Broadcast;
  table["sinter.slice"] = Slice;
  table["sinter.reverse"] = Reverse;
  table["sinter.concat"] = Concat;
  table["sinter.split"] = Split;
  table["sinter.pad"] = Pad;
  table["sinter.gather"] = Gather;
  table["sinter.take_along"] = TakeAlong;
  table["sinter.scatter_add"] = ScatterAdd;
  table["sinter.scatter"] = Scatter;
  table["sinter.one_hot"] = OneHot;
}

}  // namespace sinter::reference
