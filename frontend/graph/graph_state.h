// The state behind Graph, Builder and Tensor: the MLIR module under construction.
// For Sinter's own sources only.
//
//   Tensor Exp(const Tensor& x, Where where) {
//     Call call("Exp", where, {x});
//     if (!call.ok()) return {};
//     if (!IsFloat(x.dtype())) return call.Fail("takes floats; Cast(x, F32) first");
//     return call.Done(call.b().exp(call.expr(0)));
//   }
#ifndef SINTER_FRONTEND_GRAPH_GRAPH_STATE_H_
#define SINTER_FRONTEND_GRAPH_GRAPH_STATE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/graph/variable_owner.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/runtime/plan/plan.h"

namespace sinter {

// Converts to Abseil's own view, for its text functions that take no std::string_view.
inline absl::string_view View(std::string_view s) { return absl::string_view(s.data(), s.size()); }

// Prefix of the variables that random ops read: the seed and the number of the run.
inline constexpr std::string_view kRandomPrefix = "random/";

mlir::Type ElementType(DType dtype, mlir::MLIRContext& context);
DType DTypeOf(mlir::Type element);
ir::DeviceAttr AttrOf(Device device, mlir::MLIRContext& context);
Device DeviceOf(ir::DeviceAttr device);
mlir::RankedTensorType TensorType(DType dtype, const Shape& shape, mlir::MLIRContext& context);

class GraphState {
 public:
  GraphState(std::string name, int64_t seed);
  ~GraphState();
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;

  // Records an error; `what` names the call.
  void Error(Where where, std::string_view what, std::string_view message);
  absl::Status status() const;

  // Returns the variable of this name and makes it if necessary. Null, with an error kept, if it exists with
  // another type or device, or if it does not belong to `owner`.
  ir::VariableOp FindOrMake(const std::string& name, DType dtype, const Shape& shape,
                            const VariableOptions& options, Where where, const VariableOwner& owner = {});
  // Returns the variable of a handle. Null if the handle is of another graph or of a dropped function.
  ir::VariableOp Find(const Variable& variable) const;
  // False, with an error kept, for a name that a plan cannot hold. `what` is the kind, such as "Variable".
  bool CheckName(std::string_view what, std::string_view name, Where where);

  // False, with an error kept, for a name with a reserved prefix (logs, index checks, random numbers).
  bool CheckVariableName(std::string_view name, Where where);

  // False, with an error kept, if there can be no such device.
  bool CheckDevice(Device device, Where where, std::string_view what);
  void MoveVariable(const std::string& name, Device device, Where where);
  // Says that the variable is a slot of another, whose parts it shares if it has its shape.
  void SetSlotOf(const std::string& name, const std::string& parameter);
  void SetAccumulator(const std::string& name);

  const std::string& name() const { return name_; }
  int64_t seed() const { return seed_; }
  // For handles: points to the graph; null after its destruction.
  const std::shared_ptr<GraphState*>& cell() const { return cell_; }
  mlir::MLIRContext& context() { return *context_; }
  mlir::ModuleOp module() const { return *module_; }
  // While scopes are open, ops carry the description of the innermost. Their line is UserLine(where).
  mlir::Location Locate(Where where, std::string_view what);
  void PushScope(Where where, std::string what);
  void PopScope();
  // Returns the description of the innermost scope, or `name` if none is open.
  std::string ScopeOr(std::string_view name) const;
  // Returns the program's line nearest to a call at `where`: this line, or if it is in Sinter's own sources,
  // that of the innermost open scope whose line is not.
  Where UserLine(Where where) const;

  // A snapshot of the state that building a function changes; used to undo a function whose body throws.
  struct Mark {
    size_t variables, errors, scopes, functions;
    std::set<std::string> function_names;  // Includes the functions of kernels' gradients.
    std::vector<OptimizerRecord> optimizers;
    mlir::DictionaryAttr attributes;
  };
  Mark Now() const;
  void GoBackTo(const Mark& mark);

  std::vector<Variable> variables;
  std::map<std::string, VariableOwner> owners;  // Keyed by variable name.
  std::vector<OptimizerRecord> optimizers;      // In the order of their first use.
  std::map<std::string, ir::VariableOp> variable_ops;
  std::map<std::string, std::unique_ptr<FunctionBuilder>> functions;
  std::vector<std::string> function_order;
  FunctionBuilder* current = nullptr;  // The function being built, or null.
  int64_t gradient_points = 0;         // Ops gradient_point that were made, also in dropped functions.

 private:
  struct Scope {
    Where where;
    std::string what;
  };
  std::string name_;
  int64_t seed_;
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  // False, with an error kept, if no variable can be made with these arguments.
  // Keeps an error at `where` unless the names fit the shape.
  bool CheckDimNames(const std::vector<DimName>& dims, const Shape& shape, Where where,
                     const std::string& what);
  bool CheckNewVariable(const std::string& name, DType dtype, const Shape& shape,
                        const VariableOptions& options, Where where);
  // False, with an error kept, if `found` differs from the request.
  bool CheckFoundVariable(ir::VariableOp found, const std::string& name, DType dtype, const Shape& shape,
                          const VariableOptions& options, Where where, const VariableOwner& owner);

  std::vector<std::string> errors_;
  std::vector<Scope> scopes_;
  // Functions that were undone. Handles to their tensors may still exist; calls refuse them.
  mlir::OwningOpRef<mlir::ModuleOp> dropped_module_;
  std::vector<std::unique_ptr<FunctionBuilder>> dropped_functions_;
  std::shared_ptr<GraphState*> cell_ = std::make_shared<GraphState*>(this);
};

// The values that a loop takes from around it, and those that its body gives. A guarded loop may yield more
// than it takes: values that are zeros if it makes no trip.
struct LoopValues {
  llvm::SmallVector<mlir::Value> first, slices, next, stacked;
  bool reverse = false;
  bool is_guarded = false;  // By the first carry.
  bool is_default = false;  // True if nobody reads the results when the guard is false.
};

class FunctionBuilder {
 public:
  FunctionBuilder(GraphState& graph, std::string name, Mode mode, Where where);
  ~FunctionBuilder() { *cell_ = nullptr; }
  FunctionBuilder(const FunctionBuilder&) = delete;
  FunctionBuilder& operator=(const FunctionBuilder&) = delete;

  // The function whose body this thread runs; null if there is none. Calls and their errors belong to it.
  static FunctionBuilder*& Building();
  // Like Building(), but inside a body that builds a kernel's gradient it is the gradient's function.
  static FunctionBuilder* Current();

  // Writes the results and the terminator. Called once, after the user's body.
  void Finish();

  // The value of a variable at this point. The first read adds an argument.
  mlir::Value Read(ir::VariableOp variable);
  void Assign(ir::VariableOp variable, mlir::Value value);
  // Makes Builder::Read return what `substitute` makes of a variable and its value; null ends this.
  using Substitute = std::function<Tensor(const Variable& variable, const Tensor& value)>;
  void SetSubstitute(Substitute substitute) { substitute_ = std::move(substitute); }
  bool has_substitute() const { return substitute_ != nullptr; }
  Tensor Substituted(const Variable& variable, const Tensor& value) {
    return substitute_ ? substitute_(variable, value) : value;
  }
  // The seed, the step and a new stream number, for one random op.
  struct Random {
    mlir::Value seed, step;
    int64_t stream;
  };
  Random NextRandom(Where where);
  bool HasInput(const std::string& name) const { return inputs_.contains(name); }
  // The sizes of the bucket that the function is; empty if it is none.
  const Shape& bucket() const { return bucket_; }
  // The name that a run gives: that of Graph::Buckets if the function is a bucket, else its own.
  const std::string& group() const { return group_; }
  void SetBucket(std::string group, Shape sizes) {
    group_ = std::move(group);
    bucket_ = std::move(sizes);
  }
  // The input of this name; null if there is none.
  mlir::Value InputOf(const std::string& name) const {
    return HasInput(name) ? inputs_.at(name) : mlir::Value();
  }
  // The names and types of the inputs and outputs.
  FunctionInfo Signature() const;
  bool HasOutput(const std::string& name) const { return outputs_.contains(name); }
  mlir::Value AddInput(const std::string& name, mlir::RankedTensorType type, mlir::Location loc);
  void AddOutput(const std::string& name, mlir::Value value);
  // The trainable variables that were read, in the order of the first read.
  std::vector<ir::VariableOp> TrainableReads() const;
  // The values of a variable so far: the first one read or assigned, then each later assigned one.
  llvm::ArrayRef<mlir::Value> ValuesOf(const std::string& variable) const;
  // The name of the variable that has or had this value; empty if there is none.
  std::string VariableWith(mlir::Value value) const;
  // Moves the function out of the program, into `module`.
  void MoveTo(mlir::ModuleOp module) { func_->moveBefore(module.getBody(), module.getBody()->end()); }

  // Begins the body of a loop: what is built from here on goes into the block that it returns, whose
  // arguments are the number of the trip, i64[], then values of these types.
  mlir::Block& EnterBody(int64_t trips, const std::vector<mlir::Type>& types, mlir::Location loc);
  // Ends the innermost body and builds its loop. Returns the carries after the last trip, then the stacks.
  llvm::SmallVector<mlir::Value> FinishBody(LoopValues loop);
  // Ends the innermost body without a loop.
  void DropBody();
  bool IsInBody() const { return !bodies_.empty(); }
  // True if the value may be used here: no body that has ended computes it.
  bool IsOpen(mlir::Value value) const;

  // Places everything built until PopDevice on `device`; null leaves it unplaced.
  void PushDevice(ir::DeviceAttr device) { device_scopes_.push_back(device); }
  void PopDevice() { device_scopes_.pop_back(); }
  ir::DeviceAttr device_scope() const {
    return device_scopes_.empty() ? ir::DeviceAttr() : device_scopes_.back();
  }
  // The device of the value, if it is known during building; else null.
  ir::DeviceAttr DeviceOf(mlir::Value value) const;

  GraphState& graph() { return graph_; }
  const std::string& name() const { return name_; }
  Mode mode() const { return mode_; }
  // For handles: points to the function; null after its destruction.
  const std::shared_ptr<FunctionBuilder*>& cell() const { return cell_; }
  mlir::OpBuilder& builder() { return builder_; }

 private:
  // Calls PlaceInserted for every op that is built.
  struct Placer : mlir::OpBuilder::Listener {
    explicit Placer(FunctionBuilder* f) : function(f) {}
    void notifyOperationInserted(mlir::Operation* op, mlir::OpBuilder::InsertPoint) override;
    FunctionBuilder* function;
  };

  // The body of a loop that is being built.
  struct OpenBody {
    std::unique_ptr<mlir::Region> region;
    int64_t trips;
    mlir::Location loc;
    mlir::OpBuilder::InsertPoint before;          // The place of the loop.
    std::map<std::string, size_t> values_before;  // The number of each variable's values.
  };

  mlir::Value StepInTrip(mlir::Value step);
  void AddUnreadCarries(OpenBody& body, LoopValues& loop);
  void CarryVariables(OpenBody& body, LoopValues& loop, std::vector<ir::VariableOp>& carried);
  size_t CountBefore(const OpenBody& body, const std::string& name) const;
  void ForgetValuesOf(const OpenBody& body);
  mlir::Value AddArgument(mlir::RankedTensorType type, llvm::ArrayRef<mlir::NamedAttribute> attributes,
                          mlir::Location loc);
  void PlaceInserted(mlir::Operation* op);

  GraphState& graph_;
  std::string name_;
  Mode mode_;
  mutable mlir::func::FuncOp func_;  // Mutable because MLIR's accessors are not const.
  mlir::OpBuilder builder_;
  Placer placer_{this};
  std::vector<ir::DeviceAttr> device_scopes_;
  llvm::DenseMap<mlir::Operation*, ir::DeviceAttr> known_device_;
  llvm::SmallVector<mlir::DictionaryAttr> argument_attributes_;  // Finish gives them to the function.
  std::map<std::string, mlir::Value> inputs_;
  std::map<std::string, mlir::Value> outputs_;
  std::vector<std::string> output_order_;
  std::vector<ir::VariableOp> reads_;
  // Keyed by variable; the last value is the current one.
  std::map<std::string, std::vector<mlir::Value>> values_;
  std::vector<ir::VariableOp> assigned_;  // In the order of the first assignment.
  llvm::DenseSet<ir::VariableOp> was_assigned_;
  bool uses_random_ = false;
  std::vector<OpenBody> bodies_;  // The innermost last.
  Substitute substitute_;
  Shape bucket_;
  std::string group_ = name_;
  std::shared_ptr<FunctionBuilder*> cell_ = std::make_shared<FunctionBuilder*>(this);
};

// Builds a function, as Graph::Function does. `bucket` has its sizes if it is a bucket.
void BuildFunction(GraphState& graph, std::string_view name, Mode mode,
                   const std::function<void(Builder&)>& body, Where where, const Shape& bucket = {});

// A builder call: its operands, its location and its outcome.
class Call {
 public:
  // A call in the function whose body runs. Not ok if there is no operand, or if an operand is not ok or
  // belongs to another function. The graph then keeps an error, except for operands that a failed call
  // returned.
  Call(std::string_view name, Where where, std::vector<Tensor> operands);
  // A call in `function`, whose body must be running. A null function (its graph has been destroyed) is an
  // error.
  Call(std::string_view name, Where where, FunctionBuilder* function, std::vector<Tensor> operands = {});

  bool ok() const { return ok_; }
  // Keeps the error "name(operand types) message" and returns a tensor that is not ok.
  Tensor Fail(std::string_view message);
  ir::GraphBuilder& b() { return *builder_; }
  FunctionBuilder& function() { return *function_; }
  GraphState& graph() { return function_->graph(); }
  mlir::Location loc() const { return *loc_; }
  Where where() const { return where_; }
  ir::Expr expr(size_t i) { return builder_->wrap(value(i)); }
  mlir::Value value(size_t i) const { return mlir::Value::getFromOpaquePointer(operands_[i].value()); }
  // Returns the result as a tensor. A result of an illegal shape is an error.
  Tensor Done(ir::Expr result) { return Done(result.value); }
  Tensor Done(mlir::Value result);
  // False, with an error kept, if no tensor can have this shape.
  bool CheckShape(DType dtype, const Shape& shape);
  // False, with an error kept, if `variable` does not belong to this graph.
  bool CheckVariable(const Variable& variable);
  mlir::Type element(DType dtype) { return ElementType(dtype, graph().context()); }
  mlir::RankedTensorType type(DType dtype, const Shape& shape) {
    return TensorType(dtype, shape, graph().context());
  }

  // Resolves a negative `dim`, which counts from the end. nullopt, with an error kept, if there is no such
  // dimension. `extra` allows one dimension more than the rank.
  std::optional<int64_t> Dim(int64_t dim, int64_t rank, bool extra = false);

 private:
  void Start();
  bool CheckOperand(const Tensor& operand);

  std::string name_;
  Where where_;
  FunctionBuilder* function_ = nullptr;
  std::vector<Tensor> operands_;
  bool ok_ = true;
  std::optional<mlir::Location> loc_;
  std::optional<ir::GraphBuilder> builder_;
};

// Gives what Sinter's own sources build during its lifetime this line, and everything this description.
class LocationScope {
 public:
  LocationScope(GraphState* graph, Where where, std::string what) : graph_(graph) {
    if (graph_) graph_->PushScope(where, std::move(what));
  }
  ~LocationScope() {
    if (graph_) graph_->PopScope();
  }
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;

 private:
  GraphState* graph_;
};

// A call that is made of other calls. While it lives, what they build and their errors have its line, and its
// name unless a module has given one.
//
//   CompositeCall call("Std", where, {x});
//   if (!call.ok()) return {};
//   if (x.rank() == 0) return call.Fail("needs a dimension");
//   return Sqrt(Var(x));
class CompositeCall {
 public:
  CompositeCall(std::string_view name, Where where, std::vector<Tensor> operands);
  bool ok() const { return call_.ok(); }
  // Keeps the error "name(operand types) message" and returns a tensor that is not ok.
  Tensor Fail(std::string_view message);
  // Same meaning as in Call.
  std::optional<int64_t> Dim(int64_t dim, int64_t rank);

 private:
  std::string name_;
  Call call_;
  std::optional<LocationScope> scope_;
};

// Shields the ops built in the function during its lifetime from the device scopes around it. For library
// code whose ops belong on the devices of their operands.
class UnplacedScope {
 public:
  explicit UnplacedScope(FunctionBuilder* function) : function_(function) { function_->PushDevice(nullptr); }
  ~UnplacedScope() { function_->PopDevice(); }
  UnplacedScope(const UnplacedScope&) = delete;
  UnplacedScope& operator=(const UnplacedScope&) = delete;

 private:
  FunctionBuilder* function_;
};

// Describes why a shape is illegal, such as "has a negative size in its shape f32[-1]"; empty if it is legal.
std::string ShapeFault(DType dtype, const Shape& shape);

// Returns "Conv2d(f32[2,3], f32[4])".
std::string CallString(std::string_view name, const std::vector<Tensor>& operands);

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_GRAPH_STATE_H_
