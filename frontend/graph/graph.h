// The builder: a graph of variables and of functions that share them.
//
//   sn::Graph graph("mlp");
//   auto net = nn::Sequential{nn::Linear(100), nn::Relu(), nn::Linear(10)};
//   graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
//     auto x = b.Input("x", sn::F32, {32, 784});
//     auto y = b.Input("y", sn::I32, {32});
//     auto loss = sn::SoftmaxCrossEntropy(net(x), y);
//     optim::Sgd{.learning_rate = b.Scalar("lr")}.Minimize(loss);
//     b.Output("loss", loss);
//   });
//   graph.Function("predict", sn::Mode::kEval, [&](sn::Builder& b) {
//     b.Output("y", net(b.Input("x", sn::F32, {1, 784})));
//   });
//   absl::StatusOr<sn::Plan> plan = sn::Compile(graph);          // frontend/compile/compile.h
//
// Function() runs its body and builds the function immediately, one function at a time, on one thread.
// Functions are pure except for the variables that they assign. Within a function, a read after an Assign
// sees the new value; the variables themselves change when the function has run. The graph keeps errors (see
// tensor.h), and Compile() returns them.
#ifndef SINTER_FRONTEND_GRAPH_GRAPH_H_
#define SINTER_FRONTEND_GRAPH_GRAPH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/graph/dim_name.h"
#include "sinter/frontend/graph/float8.h"
#include "sinter/frontend/graph/tensor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

class GraphState;
class Builder;

// The value of a variable when a session starts without a checkpoint. Random values depend only on the
// variable's seed, which the builder derives from the graph's seed and the variable's name.
struct VariableInit {
  enum class Kind { kConstant, kUniform, kNormal, kOrthogonal, kTruncatedNormal, kValues };
  // Returns all elements, of the variable's type, or says why there are none. Equal seeds must give equal
  // elements.
  using Values = std::function<absl::StatusOr<HostTensor>(DType dtype, const Shape& shape, int64_t seed)>;
  Kind kind = Kind::kConstant;
  Number a = 0;  // The constant (the element type must hold it), the lower bound, the mean, or the gain.
  double b = 0;  // The upper bound, or the standard deviation.
  double low = -2, high = 2;                       // Range of kTruncatedNormal, in deviations from the mean.
  std::shared_ptr<const Values> values = nullptr;  // Function of kValues; the plan has what it returns.
};

// A named tensor that persists between runs. A cheap handle; not ok() after its graph has been destroyed.
class Variable {
 public:
  Variable() = default;
  Variable(GraphState* graph, std::string name, DType dtype, Shape shape);

  bool ok() const { return graph() != nullptr; }
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  // True if optimisers may change it. Weights are trainable; running statistics, counters and optimiser state
  // are not.
  bool trainable() const;
  // For Sinter's own sources. Null if no call made the variable, or if its graph has been destroyed.
  GraphState* graph() const { return graph_ ? *graph_ : nullptr; }
  bool outlived_its_graph() const { return graph_ && !*graph_; }

 private:
  std::shared_ptr<GraphState*> graph_;  // Shared with the graph, whose destructor sets it to null.
  std::string name_;
  DType dtype_ = DType::kF32;
  Shape shape_;
};

// The mode of a function, for layers that behave differently in training. In kTrain nn::Dropout drops
// elements, and nn::BatchNorm uses the statistics of its batch and updates its running statistics, even if
// the function trains nothing. Functions that predict or measure are in kEval.
enum class Mode { kTrain, kEval };

// The type of a graph's matmuls and convolutions that are written in f32, and of the ops between two of them:
// pointwise ops, ops that move elements, pools, norms, softmax and dropout. With kBf16 or kF16, products have
// f32 sums, and softmax and norms compute in f32 internally. The rest stays in f32: variables, their
// gradients and updates, losses, reductions, inputs and outputs. Matmuls and convolutions with a MathMode
// other than kIeee stay in f32 too, and so does everything to which the program gives another type. The
// precision applies to all functions when the graph is compiled; CompileReport::casts has a line for each
// cast. For kF16 see optim::LossScale.
enum class Precision { kF32, kBf16, kF16 };

struct GraphOptions {
  int64_t seed = 0;  // Decides every random initial value and the first random stream.
  Precision precision = Precision::kF32;
  Float8 float8 = {};  // With kBf16: products of linear layers in floats of 8 bits.
};

struct LogOptions {
  // The most values kept until the program reads them; after that, the newest value replaces the oldest.
  int64_t capacity = 1024;
};

struct VariableOptions {
  VariableInit init = {};
  bool trainable = true;
  // Device of the variable. By default that of the DeviceScope that makes it, else that of its first user.
  std::optional<Device> device = std::nullopt;
  // Names of the dimensions, one for each, or none: parallel::Tensor cuts by name.
  std::vector<DimName> dims = {};
};

class Graph {
 public:
  explicit Graph(std::string_view name, const GraphOptions& options = {});
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Builds a function. Function names are unique within the graph. If the body throws, the exception reaches
  // the caller, and the graph is as before the call: without the function and without the variables that it
  // made.
  void Function(std::string_view name, Mode mode, const std::function<void(Builder&)>& body,
                Where where = Where::current());

  // Builds a function for each of several sizes, and one name that runs them: Session::Run takes the smallest
  // that the arguments fit in, pads the arguments by zeros, and cuts the outputs back. Bucket {8, 128} is the
  // function "classify@8x128", with 8 along axis 0 and 128 along axis 1. A dimension of an input or output
  // belongs to the axis whose size it has in every bucket. Padding is computed like the rest; mask it by
  // Builder::Valid where elements of an axis are added or compared.
  //
  //   graph.Buckets("classify", sn::Mode::kEval, {{1, 128}, {8, 128}, {8, 512}},
  //                 [&](sn::Builder& b, const sn::Shape& sizes) {
  //     sn::Tensor ids = b.Input("ids", sn::I32, sizes);
  //     b.Output("logits", model(ids, b.Valid(1)));                  // f32[sizes[0], 10]
  //   });
  //   session.Run("classify", {{"ids", five_by_ninety}});            // Runs 8x128; "logits" is f32[5,10].
  //
  // Errors: fewer than two sizes; equal sizes; two axes that never differ; inputs or outputs that differ in
  // more than axes; an axis that no input has. A body that throws undoes all buckets.
  void Buckets(std::string_view name, Mode mode, const std::vector<Shape>& sizes,
               const std::function<void(Builder&, const Shape&)>& body, Where where = Where::current());
  // The same with one axis.
  void Buckets(std::string_view name, Mode mode, const std::vector<int64_t>& sizes,
               const std::function<void(Builder&, int64_t)>& body, Where where = Where::current());

  // Makes a variable, or returns the existing one of this name, dtype and shape, whoever made it. It is an
  // error if the dtype, the shape or the requested device differs from the existing one. Reserved prefixes:
  // "log/" and "log_count/" (logs), "metric/" (metrics), "index_check/" (index checks), "random/" (random
  // numbers). A module or an optimiser may not take a name that another owner's variable has.
  sinter::Variable Variable(std::string_view name, DType dtype, const Shape& shape,
                            const VariableOptions& options = {}, Where where = Where::current());

  const std::string& name() const;
  // Every variable, in the order of creation.
  std::vector<sinter::Variable> variables() const;
  // The errors so far, joined. OK if there are none.
  absl::Status status() const;
  // Returns the program as MLIR text, before any pass.
  std::string ToString() const;

  GraphState* state() const { return state_.get(); }

 private:
  std::unique_ptr<GraphState> state_;
};

// A function while its body runs.
class Builder {
 public:
  explicit Builder(FunctionBuilder* function);

  // A named input. Each run must give its value.
  Tensor Input(std::string_view name, DType dtype, const Shape& shape, Where where = Where::current());
  // An f32 input of rank 0, such as a learning rate. Changing its value needs no recompilation.
  Tensor Scalar(std::string_view name, Where where = Where::current());
  void Output(std::string_view name, const Tensor& value, Where where = Where::current());

  // Appends a number to a log on the number's device. Nothing is copied to main memory until Session::ReadLog
  // reads the values since the last read. `value` has rank 0 and any type; the log stores f64. Functions that
  // use one name share a log, in the order in which they run, and must give the same capacity. See
  // runtime/tensor/scalar_log.h.
  void Log(std::string_view name, const Tensor& value, LogOptions options = {},
           Where where = Where::current());

  // The variable's value at this point of the function.
  Tensor Read(const Variable& variable, Where where = Where::current());
  // Gives the variable a new value, which must have its dtype and shape.
  void Assign(const Variable& variable, const Tensor& value, Where where = Where::current());
  Variable MakeVariable(std::string_view name, DType dtype, const Shape& shape,
                        const VariableOptions& options = {}, Where where = Where::current());

  // Constants. The element type must hold the value: exactly, or rounded for floats.
  Tensor Full(DType dtype, const Shape& shape, Number value, Where where = Where::current());
  Tensor Zeros(DType dtype, const Shape& shape, Where where = Where::current()) {
    return Full(dtype, shape, 0, where);
  }
  Tensor Ones(DType dtype, const Shape& shape, Where where = Where::current()) {
    return Full(dtype, shape, 1, where);
  }
  Tensor Constant(const HostTensor& value, Where where = Where::current());
  // Counts 0, 1, 2, ... along `dim`.
  Tensor Iota(DType dtype, const Shape& shape, int64_t dim = 0, Where where = Where::current());

  // Random tensors, with new values at each run. The values depend only on the graph's seed and the number of
  // earlier runs.
  Tensor RandomUniform(DType dtype, const Shape& shape, double low = 0, double high = 1,
                       Where where = Where::current());
  Tensor RandomNormal(DType dtype, const Shape& shape, double mean = 0, double stddev = 1,
                      Where where = Where::current());
  Tensor RandomBernoulli(const Shape& shape, double probability, Where where = Where::current());
  // The numbers 0 to n-1 in random order, as i32[n] or i64[n].
  Tensor RandomPermutation(DType dtype, int64_t n, Where where = Where::current());

  // In the body of Graph::Buckets: the size of an axis that the run was given, i32[], and a mask of that many
  // leading elements, i1[size of the axis], which is false where padding is.
  Tensor Length(size_t axis = 0, Where where = Where::current());
  Tensor Valid(size_t axis = 0, Where where = Where::current());

  Mode mode() const;
  // Null after the graph has been destroyed.
  FunctionBuilder* function() const { return *function_; }

 private:
  std::shared_ptr<FunctionBuilder*> function_;  // Shared with the function, whose destructor sets it to null.
};

// Places everything that the function builds during the scope's lifetime on `device`: ops, inputs, constants
// and new variables. Scopes nest; the innermost one decides. Outside of scopes an op is on the device of its
// operands, and an op without placed operands is on the device of its users. An op cannot read a value from
// another device: Copy (ops.h) the value first.
//
//   sn::Tensor h0 = Relu(MatMul(x, w));                    // On x's device.
//   {
//     sn::DeviceScope on(b, sn::Device::Gpu(1));
//     h1 = Relu(MatMul(Copy(x, sn::Device::Gpu(1)), w1));
//   }
class DeviceScope {
 public:
  // Without a device the scope has no effect, so that placement can be optional.
  DeviceScope(Builder& b, std::optional<Device> device, Where where = Where::current());
  DeviceScope(FunctionBuilder* function, std::optional<Device> device, Where where = Where::current());
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  FunctionBuilder* function_ = nullptr;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_GRAPH_H_
