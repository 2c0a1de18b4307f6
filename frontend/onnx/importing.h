// The state of an import: names, versions of operator sets, and the walk over nodes.
//
//   Importing importing(b, model, options, where);
//   absl::StatusOr<OnnxValues> outputs = importing.Run(inputs);
#ifndef SINTER_FRONTEND_ONNX_IMPORTING_H_
#define SINTER_FRONTEND_ONNX_IMPORTING_H_

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sinter/frontend/onnx/import.h"
#include "sinter/frontend/onnx/node.h"
#include "sinter/frontend/onnx/onnx_file.h"

namespace sinter::onnx {

class Importing {
 public:
  Importing(Builder& b, const OnnxModel& model, const OnnxOptions& options, Where where);
  ~Importing();

  absl::StatusOr<OnnxValues> Run(const OnnxValues& inputs);

  // Builds a graph of a node's attribute, which sees the names around the node. Returns its outputs.
  absl::StatusOr<std::vector<Value>> RunBody(const Node& node, const GraphProto& graph,
                                             const std::vector<Value>& inputs);
  // The tensor of a value; of a known one a constant, or the variable that holds the weight.
  Tensor TensorOf(const Value& value);
  // The value of a name; absent for an empty one.
  absl::StatusOr<Value> Lookup(const std::string& name);
  absl::StatusOr<Value> ReadValue(const TensorProto& tensor) const;

  const OnnxOptions& options() const { return options_; }
  Builder& b() { return b_; }
  const OnnxModel& model() const { return model_; }
  // True within the body of a loop or of a branch, where constants cannot be shared with what is around.
  void EnterBody() { ++bodies_; }
  void LeaveBody() { --bodies_; }

 private:
  struct Names {
    std::map<std::string, Value> values = {};
    const Names* outer = nullptr;
  };
  using Versions = std::map<std::string, int64_t>;

  absl::StatusOr<Value> MakeInput(const OnnxInput& input, const OnnxValues& given);
  absl::StatusOr<Value> MakeTensorInput(const std::string& name, const OnnxInput& input,
                                        const OnnxValues& given);
  absl::Status AddInitializers(const GraphProto& graph, bool are_weights);
  absl::Status CheckOps() const;
  absl::Status CheckGiven(const OnnxValues& inputs) const;
  // Runs the nodes of a graph or a function.
  absl::Status RunNodes(const std::vector<NodeProto>& nodes, const std::string& title);
  absl::Status RunNode(const NodeProto& proto, const std::string& title);
  absl::StatusOr<Values> Convert(Node& node);
  absl::StatusOr<Values> CallFunction(const FunctionProto& function, const Node& node,
                                      const std::vector<Value>& operands);
  const FunctionProto* FindFunction(const NodeProto& node) const;
  Value Marked(Value value, const std::string& input);
  void AddOutput(const std::string& name, const Value& value, OnnxValues& outputs);

  Builder& b_;
  const OnnxModel& model_;
  const OnnxOptions& options_;
  Where where_;
  Names* names_ = nullptr;
  Versions versions_;
  std::set<std::string> touched_;  // Inputs of the run behind what the current node reads.
  std::map<const HostTensor*, std::pair<std::shared_ptr<const HostTensor>, Tensor>> constants_;
  std::map<const HostTensor*, std::string> weights_;
  std::list<std::unique_ptr<FunctionProto>> called_;  // Bodies with their attributes put in.
  int bodies_ = 0;
  int calls_ = 0;
  int64_t nodes_ = 0;
};

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_IMPORTING_H_
