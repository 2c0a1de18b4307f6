// Builds the graph of an ONNX model.
//
//   SINTER_ASSIGN_OR_RETURN(OnnxModel model, OnnxModel::Open("det.onnx"));
//   SINTER_ASSIGN_OR_RETURN(Graph graph, ImportGraph(model, {.shapes = {{"x", {1, 3, 48, 160}}}}));
//   absl::StatusOr<Plan> plan = Compile(graph);
//
// Within a function of a program, with gradients, losses and layers around it:
//   graph.Function("train", Mode::kTrain, [&](Builder& b) {
//     absl::StatusOr<OnnxValues> y = Import(b, model, {{"x", b.Input("x", F32, {8, 3, 224, 224})}},
//                                           {.weights = OnnxOptions::Weights::kTrainable});
//     ...
//
// All sizes are known when a graph is built, so each input needs its shape. What shapes decide, such as the
// operand of Reshape that exporters compute from Shape, is computed while importing.
//
// An op, a form of an op or a type that cannot be imported is Unimplemented. The message begins with a code
// and names the node:
//   OP                       no converter for the op, or for its version
//   OP_FORM                  attributes or operands of a kind that Sinter cannot compute
//   TYPE, STRINGS            an element type that Sinter lacks; strings
//   DOMAIN                   an operator set of another vendor, without a function in the file
//   OPEN_SIZE                a size of an input is not given: OnnxOptions::shapes or ::dims
//   VALUE_NEEDED             an operand decides a shape and depends on an input: OnnxOptions::bind
//   SIZE_DEPENDS_ON_VALUES   the shape of a result depends on values, as that of NonZero
//   OTHER_RANDOM_GENERATOR   random numbers that are those of one program
//   CONTROL_FLOW, LIST_OF_OPEN_LENGTH  a loop or a list whose types or length differ from trip to trip
// A damaged or contradictory file is InvalidArgument.
#ifndef SINTER_FRONTEND_ONNX_IMPORT_H_
#define SINTER_FRONTEND_ONNX_IMPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/onnx/model.h"

namespace sinter {

struct OnnxOptions {
  // Shapes of inputs. Needed where the file leaves a size open. Tensor i of a list x is the input "x.i", and
  // the list has as many tensors as `shapes` has of these names.
  std::map<std::string, Shape> shapes = {};
  // Sizes of named dimensions, such as "batch".
  std::map<std::string, int64_t> dims = {};
  // Inputs whose values are known now. They are no inputs of the function. Tensor i of a list x is "x.i".
  std::map<std::string, std::shared_ptr<const HostTensor>> bind = {};
  // Optional inputs that are not given.
  std::set<std::string> absent = {};
  // Weights are constants of the plan, or variables, which checkpoints keep and optimisers may change.
  // Tensors of rank 0 and below 64 elements stay constants.
  enum class Weights { kConstants, kVariables, kTrainable } weights = Weights::kConstants;
  // Imports ops that draw random numbers, Dropout in training among them, with numbers of Sinter's own
  // generator: the same distribution, but not the values of another program. Without it they are an error.
  bool own_random = false;
  std::string prefix = {};  // Begins the names of variables.
};

// By name. Tensor i of a list y is "y.i"; an optional that is empty is not there.
using OnnxValues = std::map<std::string, Tensor>;

// Builds the model in the function of `b` and returns its outputs. Inputs that are not given become inputs of
// the function.
absl::StatusOr<OnnxValues> Import(Builder& b, const OnnxModel& model, const OnnxValues& inputs = {},
                                  const OnnxOptions& options = {}, Where where = Where::current());

// A graph with one function, "main", that has the model's inputs and outputs.
absl::StatusOr<Graph> ImportGraph(const OnnxModel& model, const OnnxOptions& options = {},
                                  Where where = Where::current());

// The code that an error of Import begins with, such as "VALUE_NEEDED"; empty if it has none.
std::string OnnxErrorCode(const absl::Status& status);
// The inputs whose values an error with the code VALUE_NEEDED asks for.
std::vector<std::string> OnnxInputsToBind(const absl::Status& status);

}  // namespace sinter

#endif  // SINTER_FRONTEND_ONNX_IMPORT_H_
