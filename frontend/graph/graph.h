// The builder: a graph of variables and of functions that share them.
//
//   sn::Graph graph("mlp");
//   auto net = nn::Sequential{nn::Linear(100), nn::Relu(), nn::Linear(10)};
//   graph.Function("train", [&](sn::Builder& b) {
//     auto x = b.Input("x", sn::F32, {32, 784});
//     auto y = b.Input("y", sn::I32, {32});
//     auto loss = sn::SoftmaxCrossEntropy(net(x), y, sn::Reduction::kMean);
//     optim::Sgd{.learning_rate = b.Scalar("lr")}.Minimize(loss);
//     b.Output("loss", loss);
//   });
//   graph.Function("predict", sn::Mode::kEval, [&](sn::Builder& b) {
//     b.Output("y", net(b.Input("x", sn::F32, {1, 784})));
//   });
//   absl::StatusOr<sn::Plan> plan = sn::Compile(graph);          // frontend/compile/compile.h
//
// Functions are built when Function() is called, one at a time, on one thread. They are pure but for the
// variables that they assign: within a function a read after an Assign sees the new value, and the values
// reach the variables when the function has run. Errors are kept (see tensor.h) and returned by Compile().
#ifndef SINTER_FRONTEND_GRAPH_GRAPH_H_
#define SINTER_FRONTEND_GRAPH_GRAPH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sinter/frontend/graph/tensor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

class GraphState;
class Builder;

// How a variable gets its first value, when a session starts and no checkpoint is loaded. Random values
// depend on the variable's seed only: nn's initialisers (frontend/nn/initializer.h) derive it from the
// graph's seed and the name.
struct VariableInit {
  enum class Kind { kConstant, kUniform, kNormal, kOrthogonal };
  Kind kind = Kind::kConstant;
  Number a = 0;  // The constant, which the element type must hold; the lower bound; the mean; the gain.
  double b = 0;  // The upper bound; the standard deviation.
};

// A named tensor that outlives a run. A cheap handle; not ok() when its graph has been destroyed.
class Variable {
 public:
  Variable() = default;
  Variable(GraphState* graph, std::string name, DType dtype, Shape shape);

  bool ok() const { return graph() != nullptr; }
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  // True if optimisers may change it: true for weights, false for running statistics, counters and optimisers' state.
  bool trainable() const;
  // For Sinter's own sources. Null: none made it, or its graph has been destroyed.
  GraphState* graph() const { return graph_ ? *graph_ : nullptr; }
  bool outlived_its_graph() const { return graph_ && !*graph_; }

 private:
  std::shared_ptr<GraphState*> graph_;  // Shared with the graph, which leaves null there.
  std::string name_;
  DType dtype_ = DType::kF32;
  Shape shape_;
};

// Layers that behave differently in training ask the function for its mode. In kTrain, the default, nn::Dropout drops and
// nn::BatchNorm uses the statistics of its batch and moves its running ones, whether or not the function trains anything; a
// function that predicts or measures is built in kEval. CompileReport::warnings has those that look as if they should be.
enum class Mode { kTrain, kEval };

// In which type a graph's matrix products and convolutions run, and what lies between them (Graph::SetPrecision).
enum class Precision { kF32, kBf16, kF16 };

struct LogOptions {
  // Values that are kept until they are read; after that the newest takes the place of the oldest.
  int64_t capacity = 1024;
};

struct VariableOptions {
  VariableInit init = {};
  bool trainable = true;
  // Where it lives; else in the scope that makes it (DeviceScope), else with its first user.
  std::optional<Device> device = std::nullopt;
};

class Graph {
 public:
  // `seed` decides every random initial value and the first random stream.
  explicit Graph(std::string_view name, int64_t seed = 0);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Builds a function, in Mode::kTrain unless another is given. Names are unique within the graph. If the body throws, the
  // exception goes on to the caller, and the graph is as if Function had not been called: the function and the variables
  // that it made are no more.
  void Function(std::string_view name, const std::function<void(Builder&)>& body,
                Where where = Where::current());
  void Function(std::string_view name, Mode mode, const std::function<void(Builder&)>& body,
                Where where = Where::current());

  // Makes a variable, or returns the existing one of this name, dtype and shape (an error when they, or the devices asked
  // for, differ), whoever made it. Names that begin with "log/" or "log_count/" are those of logs, with "index_check/" of index
  // checks, with "random/" of random numbers. A module or an optimiser whose variable would have the name of one that is not
  // its own is an error.
  sinter::Variable Variable(std::string_view name, DType dtype, const Shape& shape,
                            const VariableOptions& options = {}, Where where = Where::current());

  // Lets products and convolutions that are written in f32 run in bf16 or f16, with sums in f32, and so what lies between
  // two of them: pointwise ops, ops that move elements, pools, norms, softmax, dropout. Softmax and norms compute in f32
  // inside. All else stays in f32: variables, their gradients and updates, losses, reductions, inputs and outputs; so do
  // products with a MathMode other than kIeee, and what the program gives another type. Counts for all functions, when the
  // graph is compiled; each cast is a line of CompileReport::casts. For kF16 see optim::LossScale.
  void SetPrecision(Precision precision);

  const std::string& name() const;
  // Every variable, in the order in which they were made.
  std::vector<sinter::Variable> variables() const;
  // The errors so far, joined; OK when there are none.
  absl::Status status() const;
  // The program as MLIR text, before any pass.
  std::string ToString() const;

  GraphState* state() const { return state_.get(); }

 private:
  std::unique_ptr<GraphState> state_;
};

// A function under construction.
class Builder {
 public:
  explicit Builder(FunctionState* function);

  // A named input, given at each run.
  Tensor Input(std::string_view name, DType dtype, const Shape& shape, Where where = Where::current());
  // A rank-0 f32 input, such as a learning rate: changing it needs no recompilation.
  Tensor Scalar(std::string_view name, Where where = Where::current());
  void Output(std::string_view name, const Tensor& value, Where where = Where::current());

  // Appends a number to a log on the device where it is: nothing is brought to main memory until the program reads the
  // values since the last time, by Session::ReadLog. `value` has rank 0 and any type; it is kept as f64. Functions that log
  // under one name share a log, in the order in which they run; they must give it one capacity. See runtime/tensor/scalar_log.h.
  void Log(std::string_view name, const Tensor& value, LogOptions options = {},
           Where where = Where::current());

  // The variable's value at this point of the function.
  Tensor Read(const Variable& variable, Where where = Where::current());
  // Gives the variable a new value of its dtype and shape.
  void Assign(const Variable& variable, const Tensor& value, Where where = Where::current());
  Variable MakeVariable(std::string_view name, DType dtype, const Shape& shape,
                        const VariableOptions& options = {}, Where where = Where::current());

  // Constants. The element type must hold the value exactly, floats but for rounding.
  Tensor Full(DType dtype, const Shape& shape, Number value, Where where = Where::current());
  Tensor Zeros(DType dtype, const Shape& shape, Where where = Where::current()) {
    return Full(dtype, shape, 0, where);
  }
  Tensor Ones(DType dtype, const Shape& shape, Where where = Where::current()) {
    return Full(dtype, shape, 1, where);
  }
  Tensor Constant(const HostTensor& value, Where where = Where::current());
  // 0, 1, 2, ... along `dim`.
  Tensor Iota(DType dtype, const Shape& shape, int64_t dim = 0, Where where = Where::current());

  // Random tensors: new values at each run, the same for the same graph seed and number of runs before.
  Tensor RandomUniform(DType dtype, const Shape& shape, double low = 0, double high = 1,
                       Where where = Where::current());
  Tensor RandomNormal(DType dtype, const Shape& shape, double mean = 0, double stddev = 1,
                      Where where = Where::current());
  Tensor RandomBernoulli(const Shape& shape, double probability, Where where = Where::current());
  // 0 to n-1 in random order, i32[n] or i64[n].
  Tensor RandomPermutation(DType dtype, int64_t n, Where where = Where::current());

  Mode mode() const;
  // Null when its graph has been destroyed.
  FunctionState* function() const { return *function_; }

 private:
  std::shared_ptr<FunctionState*> function_;  // Shared with the function, which leaves null there.
};

// While alive, what is built in the function is on the device: ops, inputs, constants and the variables made meanwhile.
// Scopes nest, and the inner one counts. Outside of scopes an op is where its operands are, and what has none, where it is
// used. An op on one device cannot read from another: Copy (ops.h) first.
//
//   sn::Tensor h0 = Relu(MatMul(x, w));                    // Where x is.
//   {
//     sn::DeviceScope on(b, sn::Device::Gpu(1));
//     h1 = Relu(MatMul(Copy(x, sn::Device::Gpu(1)), w1));
//   }
class DeviceScope {
 public:
  // Without a device the scope changes nothing, so that placing can be optional.
  DeviceScope(Builder& b, std::optional<Device> device, Where where = Where::current());
  DeviceScope(FunctionState* function, std::optional<Device> device, Where where = Where::current());
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  FunctionState* function_ = nullptr;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_GRAPH_H_
