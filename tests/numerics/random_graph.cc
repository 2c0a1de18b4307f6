#include "sinter/tests/numerics/random_graph.h"

#include <algorithm>
#include <functional>
#include <random>

namespace sinter::numerics {

using reference::NumElements;
using reference::Shape;
using reference::Value;

namespace {

struct Node {
  std::string name;
  Shape shape;
  bool is_bool = false;
};

std::string TypeOf(const Shape& shape, const std::string& element = "f32") {
  std::string text = "tensor<";
  for (int64_t size : shape) text += std::to_string(size) + "x";
  return text + element + ">";
}
std::string TypeOf(const Node& node) { return TypeOf(node.shape, node.is_bool ? "i1" : "f32"); }

std::string List(const Shape& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  RandomGraph Make(bool gradients, int ops) {
    AddArguments();
    for (int i = 0; i < ops; ++i) AddOp();
    if (gradients) AddGradients();
    return Finish();
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Chance(int percent) { return Below(100) < static_cast<uint64_t>(percent); }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }

  Value RandomValue(const Shape& shape) {
    Value value = Value::Zeros(DType::kF32, shape);
    for (double& x : value.reals) {
      x = reference::Round(DType::kF32, static_cast<double>(random_() >> 11) * 0x1p-52 - 1);
    }
    return value;
  }

  void AddArguments() {
    const std::vector<Shape> shapes = {{},       {1},       {7},      {16},         {4, 8},  {8, 4},
                                       {16, 16}, {3, 5, 7}, {33, 17}, {2, 3, 4, 5}, {64, 31}};
    size_t inputs = 2 + Below(3), variables = Below(3);
    for (size_t i = 0; i < inputs + variables; ++i) {
      Shape shape = Pick(shapes);
      std::string name = (i < inputs ? "in" + std::to_string(i) : "v" + std::to_string(i - inputs));
      nodes_.push_back({"%" + name, shape});
      graph_.inputs.push_back(RandomValue(shape));
      arguments_ +=
          (i ? ", %" : "%") + name + ": " + TypeOf(shape) +
          (i < inputs ? " {sinter.input = \"" + name + "\"}" : " {sinter.variable = @" + name + "}");
      if (i < inputs) {
        graph_.input_names.push_back(name);
        continue;
      }
      graph_.first_reads.push_back(i);
      graph_.variable_names.push_back(name);
      variables_ += "sinter.variable @" + name + " : " + TypeOf(shape) + " = constant(0.0, 0.0) seed 0\n";
    }
  }

  const Node& Emit(const std::string& text, Shape shape, bool is_bool = false) {
    Node node{"%n" + std::to_string(count_++), std::move(shape), is_bool};
    body_ += "  " + node.name + " = sinter." + text + "\n";
    nodes_.push_back(node);
    return nodes_.back();
  }

  // Limits a value to order 1.
  void Tame(const Node& node) { Emit("tanh " + node.name + " : " + TypeOf(node), node.shape); }

  // Returns a float node. Prefers recent nodes, so that graphs grow deep.
  Node Any(const std::function<bool(const Node&)>& fits = [](const Node&) { return true; }) {
    std::vector<Node> found;
    size_t recent = Chance(60) && nodes_.size() > 6 ? nodes_.size() - 6 : 0;
    for (size_t from : {recent, size_t{0}}) {
      for (size_t i = from; i < nodes_.size(); ++i) {
        if (!nodes_[i].is_bool && fits(nodes_[i])) found.push_back(nodes_[i]);
      }
      if (!found.empty()) return Pick(found);
    }
    return Node{"", {}};
  }

  void AddOp() {
    using Add = void (Generator::*)();
    const std::vector<Add> kinds = {
        &Generator::Unary,     &Generator::Unary,     &Generator::Binary,    &Generator::Binary,
        &Generator::Binary,    &Generator::Select,    &Generator::Reduce,    &Generator::Reduce,
        &Generator::Broadcast, &Generator::Transpose, &Generator::Slice,     &Generator::Reshape,
        &Generator::Concat,    &Generator::Softmax,   &Generator::Matmul,    &Generator::Pad,
        &Generator::Cumsum,    &Generator::Gather,    &Generator::LayerNorm, &Generator::BiasActivation};
    (this->*Pick(kinds))();
  }

  void Unary() {
    Node x = Any();
    std::string op = Pick(std::vector<std::string>{"sin", "tanh", "sigmoid", "gelu", "relu", "neg", "abs",
                                                   "square", "erf", "softplus", "silu", "exp"});
    Node r = Emit(op + " " + x.name + " : " + TypeOf(x), x.shape);
    if (op == "exp" || op == "square" || op == "softplus") Tame(r);
  }

  void Binary() {
    Node x = Any();
    Node y = Any([&](const Node& n) { return n.shape == x.shape; });
    std::string op = Pick(std::vector<std::string>{"add", "sub", "mul", "maximum", "minimum", "mul"});
    Node r = Emit(op + " " + x.name + ", " + y.name + " : " + TypeOf(x), x.shape);
    if (op == "add" || op == "sub") Tame(r);
  }

  // Selects between two values that are equal at the border, so that rounding across the border does no harm.
  void Select() {
    Node x = Any();
    Node zero = Emit("constant dense<0.0> : " + TypeOf(x), x.shape);
    Node positive =
        Emit("compare gt " + x.name + ", " + zero.name + " : " + TypeOf(x) + " -> " + TypeOf(x.shape, "i1"),
             x.shape, true);
    Node twice = Emit("mul " + x.name + ", " + x.name + " : " + TypeOf(x), x.shape);
    Emit("select " + positive.name + ", " + x.name + ", " + twice.name + " : " + TypeOf(positive) + ", " +
             TypeOf(x),
         x.shape);
  }

  void Reduce() {
    Node x = Any([](const Node& n) { return !n.shape.empty(); });
    if (x.name.empty()) return;
    Shape dims, kept;
    for (size_t d = 0; d < x.shape.size(); ++d) (Chance(50) ? dims : kept).push_back(static_cast<int64_t>(d));
    if (dims.empty()) std::swap(dims, kept);
    Shape shape;
    for (int64_t d : kept) shape.push_back(x.shape[d]);
    std::string op = Pick(std::vector<std::string>{"sum", "mean", "max", "min", "logsumexp"});
    Node r = Emit(op + " " + x.name + " " + List(dims) + " : " + TypeOf(x) + " -> " + TypeOf(shape), shape);
    Tame(r);
    if (!Chance(60)) return;
    // Broadcasts the result over the reduced dimensions, as norms do.
    Node tame = nodes_.back();
    Node spread = Emit(
        "broadcast " + tame.name + " " + List(kept) + " : " + TypeOf(tame) + " -> " + TypeOf(x), x.shape);
    Emit("mul " + spread.name + ", " + x.name + " : " + TypeOf(x), x.shape);
  }

  void Broadcast() {
    Node y = Any([](const Node& n) { return !n.shape.empty(); });
    if (y.name.empty()) return;
    int64_t last = static_cast<int64_t>(y.shape.size()) - 1;
    Node x = Any([&](const Node& n) { return n.shape.empty() || n.shape == Shape{y.shape[last]}; });
    if (x.name.empty()) return;
    Shape dims = x.shape.empty() ? Shape{} : Shape{last};
    Node spread =
        Emit("broadcast " + x.name + " " + List(dims) + " : " + TypeOf(x) + " -> " + TypeOf(y), y.shape);
    Tame(Emit("add " + spread.name + ", " + y.name + " : " + TypeOf(y), y.shape));
  }

  void Transpose() {
    Node x = Any([](const Node& n) { return n.shape.size() >= 2; });
    if (x.name.empty()) return;
    Shape permutation(x.shape.size());
    for (size_t d = 0; d < permutation.size(); ++d) permutation[d] = static_cast<int64_t>(d);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    Shape shape;
    for (int64_t d : permutation) shape.push_back(x.shape[d]);
    Emit("transpose " + x.name + " " + List(permutation) + " : " + TypeOf(x) + " -> " + TypeOf(shape), shape);
  }

  void Slice() {
    Node x = Any([](const Node& n) { return !n.shape.empty() && NumElements(n.shape) > 1; });
    if (x.name.empty()) return;
    Shape starts, limits, strides, shape;
    for (int64_t size : x.shape) {
      starts.push_back(static_cast<int64_t>(Below(size)));
      limits.push_back(starts.back() + 1 + static_cast<int64_t>(Below(size - starts.back())));
      strides.push_back(Chance(70) ? 1 : 2);
      shape.push_back((limits.back() - starts.back() + strides.back() - 1) / strides.back());
    }
    Emit("slice " + x.name + " " + List(starts) + " " + List(limits) + " " + List(strides) + " : " +
             TypeOf(x) + " -> " + TypeOf(shape),
         shape);
  }

  void Reshape() {
    Node x = Any();
    Shape shape;
    int64_t left = NumElements(x.shape);
    for (int64_t divisor : {2, 3, 4, 5, 7}) {
      if (left % divisor != 0 || left == divisor || !Chance(50)) continue;
      shape.push_back(divisor);
      left /= divisor;
    }
    shape.push_back(left);
    std::shuffle(shape.begin(), shape.end(), random_);
    Emit("reshape " + x.name + " : " + TypeOf(x) + " -> " + TypeOf(shape), shape);
  }

  void Concat() {
    Node x = Any([](const Node& n) { return !n.shape.empty() && NumElements(n.shape) < 3000; });
    if (x.name.empty()) return;
    size_t dim = Below(x.shape.size());
    Node y = Any([&](const Node& n) {
      if (n.shape.size() != x.shape.size() || NumElements(n.shape) > 3000) return false;
      for (size_t d = 0; d < n.shape.size(); ++d) {
        if (d != dim && n.shape[d] != x.shape[d]) return false;
      }
      return true;
    });
    Shape shape = x.shape;
    shape[dim] += y.shape[dim];
    Emit("concat " + x.name + ", " + y.name + " dim " + std::to_string(dim) + " : (" + TypeOf(x) + ", " +
             TypeOf(y) + ") -> " + TypeOf(shape),
         shape);
  }

  void Pad() {
    Node x = Any(
        [](const Node& n) { return !n.shape.empty() && n.shape.size() < 4 && NumElements(n.shape) < 1500; });
    if (x.name.empty()) return;
    Shape low, high, interior, shape;
    for (int64_t size : x.shape) {
      low.push_back(static_cast<int64_t>(Below(3)));
      high.push_back(static_cast<int64_t>(Below(3)));
      interior.push_back(Chance(80) ? 0 : 1);
      shape.push_back(low.back() + high.back() + size + (size - 1) * interior.back());
    }
    Emit("pad " + x.name + " value 0.5 low " + List(low) + " high " + List(high) + " interior " +
             List(interior) + " : " + TypeOf(x) + " -> " + TypeOf(shape),
         shape);
  }

  void Softmax() {
    Node x = Any([](const Node& n) { return !n.shape.empty(); });
    if (x.name.empty()) return;
    std::string op = Chance(70) ? "softmax" : "log_softmax";
    Node r = Emit(op + " " + x.name + " dim " + std::to_string(Below(x.shape.size())) + " : " + TypeOf(x) +
                      " -> " + TypeOf(x),
                  x.shape);
    if (op == "log_softmax") Tame(r);
  }

  void LayerNorm() {
    Node x = Any([](const Node& n) { return !n.shape.empty() && n.shape.back() > 1; });
    if (x.name.empty()) return;
    Node scale = Any([&](const Node& n) { return n.shape == Shape{x.shape.back()}; });
    if (scale.name.empty()) return;
    std::string types = TypeOf(x) + ", " + TypeOf(scale);
    Tame(Emit("rms_norm " + x.name + ", " + scale.name + " {epsilon = 1.0e-1 : f64} : (" + types + ") -> " +
                  TypeOf(x),
              x.shape));
  }

  void Cumsum() {
    Node x = Any([](const Node& n) { return !n.shape.empty(); });
    if (x.name.empty()) return;
    Tame(Emit("cumsum " + x.name + " dim " + std::to_string(Below(x.shape.size())) + " : " + TypeOf(x),
              x.shape));
  }

  void Gather() {
    Node x = Any([](const Node& n) { return !n.shape.empty(); });
    if (x.name.empty()) return;
    std::string indices = "%i" + std::to_string(count_);
    body_ += "  " + indices + " = sinter.constant dense<[2, 0, 5]> : tensor<3xi32>\n";
    Shape shape = x.shape;
    size_t dim = Below(shape.size());
    shape[dim] = 3;
    Emit("gather " + x.name + " [" + indices + "] dim " + std::to_string(dim) + " : " + TypeOf(x) +
             ", tensor<3xi32> -> " + TypeOf(shape),
         shape);
  }

  Node Product() {
    Node a = Any([](const Node& n) { return n.shape.size() == 2; });
    if (a.name.empty()) return a;
    bool turn_a = Chance(30), turn_b = Chance(30);
    int64_t m = a.shape[turn_a ? 1 : 0], k = a.shape[turn_a ? 0 : 1];
    Node b = Any([&](const Node& n) { return n.shape.size() == 2 && n.shape[turn_b ? 1 : 0] == k; });
    if (b.name.empty()) return b;
    int64_t n = b.shape[turn_b ? 0 : 1];
    std::string attributes = turn_a && turn_b ? " {transpose_a, transpose_b}"
                             : turn_a         ? " {transpose_a}"
                             : turn_b         ? " {transpose_b}"
                                              : "";
    return Emit("matmul " + a.name + ", " + b.name + attributes + " : (" + TypeOf(a) + ", " + TypeOf(b) +
                    ") -> " + TypeOf({m, n}),
                {m, n});
  }

  void Matmul() {
    Node r = Product();
    if (!r.name.empty()) Tame(r);
  }

  // A matmul with a bias and an activation, which fusion makes an epilogue.
  void BiasActivation() {
    Node r = Product();
    if (r.name.empty()) return;
    Node bias = Any([&](const Node& n) { return n.shape == Shape{r.shape[1]}; });
    if (!bias.name.empty()) {
      Node spread = Emit("broadcast " + bias.name + " [1] : " + TypeOf(bias) + " -> " + TypeOf(r), r.shape);
      r = Emit("add " + r.name + ", " + spread.name + " : " + TypeOf(r), r.shape);
    }
    Node active = Emit(
        Pick(std::vector<std::string>{"relu", "gelu", "sigmoid", "tanh"}) + " " + r.name + " : " + TypeOf(r),
        r.shape);
    Tame(active);
  }

  // Adds the gradients of the last node's sum with respect to two arguments as new nodes.
  void AddGradients() {
    Node y = nodes_.back(), a = nodes_[Below(graph_.inputs.size())], b = nodes_[Below(graph_.inputs.size())];
    Shape dims;
    for (size_t d = 0; d < y.shape.size(); ++d) dims.push_back(static_cast<int64_t>(d));
    Node loss = Emit("sum " + y.name + " " + List(dims) + " : " + TypeOf(y) + " -> tensor<f32>", {});
    std::string types = TypeOf(a) + ", " + TypeOf(b);
    body_ += "  %g:2 = sinter.gradients " + loss.name + " wrt " + a.name + ", " + b.name +
             " : (tensor<f32>, " + types + ") -> (" + types + ")\n";
    nodes_.push_back({"%g#0", a.shape});
    Tame(nodes_.back());
    nodes_.push_back({"%g#1", b.shape});
    Tame(nodes_.back());
  }

  RandomGraph Finish() {
    std::string results, values, types;
    auto add = [&](const Node& node, const std::string& attribute) {
      std::string comma = values.empty() ? "" : ", ";
      results += comma + TypeOf(node) + " {" + attribute + "}";
      values += comma + node.name;
      types += comma + TypeOf(node);
    };
    size_t outputs = 1 + Below(4);
    for (size_t i = 0; i < outputs; ++i) {
      std::string name = "out" + std::to_string(i);
      graph_.output_names.push_back(name);
      add(i == 0 ? nodes_.back() : Any(), "sinter.output = \"" + name + "\"");
    }
    for (size_t i = 0; i < graph_.variable_names.size(); ++i) {
      const Shape& shape = graph_.inputs[graph_.first_reads[i]].shape;
      add(Any([&](const Node& n) { return n.shape == shape; }),
          "sinter.variable = @" + graph_.variable_names[i]);
    }
    graph_.text = variables_ + "func.func @f(" + arguments_ + ") -> (" + results + ") {\n" + body_ +
                  "  return " + values + " : " + types + "\n}\n";
    return graph_;
  }

  std::mt19937_64 random_;
  RandomGraph graph_;
  std::vector<Node> nodes_;
  std::string variables_, arguments_, body_;
  int count_ = 0;
};

}  // namespace

RandomGraph MakeRandomGraph(uint64_t seed, bool gradients, int ops) {
  return Generator(seed).Make(gradients, ops);
}

}  // namespace sinter::numerics
