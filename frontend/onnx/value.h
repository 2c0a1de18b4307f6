// Values while a model is imported: tensors, known or symbolic, lists of them, and nothing.
//
//   Value shape = Value::Known(std::move(host_tensor));      // Known while importing: may be folded.
//   Value x = tensor;                                        // Computed when the graph runs.
#ifndef SINTER_FRONTEND_ONNX_VALUE_H_
#define SINTER_FRONTEND_ONNX_VALUE_H_

#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sinter/frontend/graph/tensor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::onnx {

class Value {
 public:
  // kAbsent: an optional operand that is not given, or an optional without an element.
  enum class Kind { kAbsent, kTensor, kList, kStrings };

  Value() = default;
  Value(const Tensor& tensor) : kind_(Kind::kTensor), tensor_(tensor) {}  // NOLINT
  static Value Known(HostTensor value) {
    Value result;
    result.kind_ = Kind::kTensor;
    result.known_ = std::make_shared<const HostTensor>(std::move(value));
    return result;
  }
  static Value List(std::vector<Value> items) {
    Value result;
    result.kind_ = Kind::kList;
    result.items_ = std::make_shared<const std::vector<Value>>(std::move(items));
    return result;
  }
  static Value Strings() {
    Value result;
    result.kind_ = Kind::kStrings;
    return result;
  }

  Kind kind() const { return kind_; }
  bool is_absent() const { return kind_ == Kind::kAbsent; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  bool is_list() const { return kind_ == Kind::kList; }
  // Null unless the elements are known while importing.
  const HostTensor* known() const { return known_.get(); }
  std::shared_ptr<const HostTensor> shared_known() const { return known_; }
  // Null-like for a known tensor.
  const Tensor& tensor() const { return tensor_; }
  const std::vector<Value>& items() const { return *items_; }
  // The inputs of the run that the value depends on; null: none.
  const std::set<std::string>* behind() const { return behind_.get(); }
  void set_behind(std::shared_ptr<const std::set<std::string>> behind) { behind_ = std::move(behind); }

  // Type of a tensor.
  DType dtype() const { return known_ != nullptr ? known_->dtype() : tensor_.dtype(); }
  Shape shape() const { return known_ != nullptr ? Shape(known_->shape()) : Shape(tensor_.shape()); }

 private:
  Kind kind_ = Kind::kAbsent;
  Tensor tensor_;
  std::shared_ptr<const HostTensor> known_;
  std::shared_ptr<const std::vector<Value>> items_;
  std::shared_ptr<const std::set<std::string>> behind_;
};

// The results of a node.
class Values {
 public:
  Values() = default;
  Values(const Tensor& tensor) : values_{Value(tensor)} {}  // NOLINT
  Values(Value value) : values_{std::move(value)} {}        // NOLINT
  Values(std::initializer_list<Value> values) : values_(values) {}
  Values(std::vector<Value> values) : values_(std::move(values)) {}                        // NOLINT
  Values(const std::vector<Tensor>& tensors) : values_(tensors.begin(), tensors.end()) {}  // NOLINT

  size_t size() const { return values_.size(); }
  const Value& operator[](size_t i) const { return values_[i]; }
  void push_back(Value value) { values_.push_back(std::move(value)); }
  std::vector<Value>::iterator begin() { return values_.begin(); }
  std::vector<Value>::iterator end() { return values_.end(); }

 private:
  std::vector<Value> values_;
};

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_VALUE_H_
