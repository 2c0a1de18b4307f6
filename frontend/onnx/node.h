// A node while its converter runs: its operands, attributes and errors.
//
//   absl::StatusOr<Values> Squeeze(Node& node) {
//     SINTER_ASSIGN_OR_RETURN(const Shape axes, node.Ints(1));       // Must be known while importing.
//     return Drop(node.In(0), axes);
//   }
//   const std::span<const OpRecord> ShapeOps() { ... {"Squeeze", 13, Squeeze}, ... }
//
// Operands and attributes that are missing or of another kind are kept as the node's error, and a default or
// a tensor that is not ok is returned. The importer returns that error after the converter.
#ifndef SINTER_FRONTEND_ONNX_NODE_H_
#define SINTER_FRONTEND_ONNX_NODE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/graph/graph.h"
#include "sinter/frontend/onnx/onnx_file.h"
#include "sinter/frontend/onnx/value.h"

namespace sinter::onnx {

class Importing;

class Node {
 public:
  Node(Importing& importing, const NodeProto& proto, std::vector<Value> operands, int64_t version,
       std::string title)
      : importing_(importing),
        proto_(proto),
        operands_(std::move(operands)),
        version_(version),
        title_(std::move(title)) {}

  Builder& b();
  const std::string& op() const;
  // "m.onnx:12: Conv 'conv1'".
  const std::string& title() const { return title_; }
  int64_t version() const { return version_; }  // Version of the operator set.
  size_t num_inputs() const { return operands_.size(); }
  size_t num_outputs() const;
  bool WantsOutput(size_t i) const;

  // Operands.
  bool Has(size_t i) const { return i < operands_.size() && !operands_[i].is_absent(); }
  const Value& Operand(size_t i) const;
  Tensor In(size_t i);
  std::vector<Tensor> AllIn() {
    std::vector<Tensor> tensors;
    for (const Value& value : operands_) tensors.push_back(TensorOf(value));
    return tensors;
  }
  // The tensor of a value; a constant is made of a known one.
  Tensor TensorOf(const Value& value);
  DType dtype(size_t i);
  Shape shape(size_t i);
  // Elements of operands that must be known while importing. Unimplemented (VALUE_NEEDED) otherwise.
  absl::StatusOr<const HostTensor*> Known(size_t i);
  absl::StatusOr<Shape> Ints(size_t i);
  absl::StatusOr<std::vector<double>> Reals(size_t i);
  absl::StatusOr<int64_t> Int(size_t i);
  absl::StatusOr<double> Real(size_t i);

  // Attributes.
  bool HasAttr(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise);
  double Real(std::string_view name, double otherwise);
  std::string Text(std::string_view name, std::string_view otherwise);
  Shape Ints(std::string_view name, const Shape& otherwise = {});
  std::vector<double> Reals(std::string_view name, const std::vector<double>& otherwise = {});
  std::vector<std::string> Texts(std::string_view name, const std::vector<std::string>& otherwise = {});
  absl::StatusOr<Value> TensorAttr(std::string_view name);
  absl::StatusOr<const GraphProto*> GraphAttr(std::string_view name);
  const AttributeProto* Find(std::string_view name) const;
  // An axis of `rank` dimensions, from 0. An axis out of range is kept as error.
  int64_t Axis(int64_t axis, int64_t rank);
  Shape Axes(const Shape& axes, int64_t rank);

  // Errors. The code is one of those of import.h.
  absl::Status Unsupported(std::string_view code, std::string_view what) const;
  absl::Status Bad(std::string_view what) const;
  const absl::Status& status() const { return status_; }
  void Keep(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }

  Importing& importing() { return importing_; }
  const NodeProto& proto() const { return proto_; }

  // Constants.
  Tensor Number(double value, DType dtype) { return Constant({}, std::vector<double>{value}, dtype); }
  Tensor Constant(const Shape& shape, const std::vector<int64_t>& values, DType dtype = DType::kI64);
  Tensor Constant(const Shape& shape, const std::vector<double>& values, DType dtype = DType::kF32);

 private:
  const AttributeProto* FindOf(std::string_view name, std::initializer_list<int32_t> types);

  Importing& importing_;
  const NodeProto& proto_;
  std::vector<Value> operands_;
  int64_t version_;
  std::string title_;
  absl::Status status_;
};

// The element type in an attribute that has its number, or its name in files of version 1.
absl::StatusOr<DType> TypeAttr(Node& node, std::string_view name, DType otherwise);

using Converter = absl::StatusOr<Values> (*)(Node& node);

// One operator from a version of its operator set on.
struct OpRecord {
  std::string_view op;
  int64_t since;
  Converter convert;
  std::string_view domain = "";
};

// The record with the highest `since` that is not above `version`; null if there is none.
const OpRecord* FindConverter(std::string_view domain, std::string_view op, int64_t version);
// All records, group by group.
std::vector<OpRecord> AllConverters();

// Computes a node whose operands are all known; nullopt-like: not ok with code NotFound if there is no way
// to, or if the result would have more than `most` elements.
absl::StatusOr<Values> Fold(Node& node, int64_t most);

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_NODE_H_
