// The fields of each message of an ONNX file, for readers and writers: number in the file, name and member.
//
//   VisitFields([&](uint32_t number, const char* name, auto& member) { ... }, model);
//
// Source of the numbers: onnx.proto and onnx-data.proto of the standard, IR version 10.
#ifndef SINTER_FRONTEND_ONNX_ONNX_FIELDS_H_
#define SINTER_FRONTEND_ONNX_ONNX_FIELDS_H_

#include "sinter/frontend/onnx/onnx_file.h"

namespace sinter::onnx {

template <typename Visit>
void VisitFields(Visit&& visit, OperatorSetIdProto& m) {
  visit(1, "domain", m.domain);
  visit(2, "version", m.version);
}

template <typename Visit>
void VisitFields(Visit&& visit, StringStringEntryProto& m) {
  visit(1, "key", m.key);
  visit(2, "value", m.value);
}

template <typename Visit>
void VisitFields(Visit&& visit, TensorProto& m) {
  visit(1, "dims", m.dims);
  visit(2, "data_type", m.data_type);
  visit(4, "float_data", m.float_data);
  visit(5, "int32_data", m.int32_data);
  visit(6, "string_data", m.string_data);
  visit(7, "int64_data", m.int64_data);
  visit(8, "name", m.name);
  visit(9, "raw_data", m.raw_data);
  visit(10, "double_data", m.double_data);
  visit(11, "uint64_data", m.uint64_data);
  visit(13, "external_data", m.external_data);
  visit(14, "data_location", m.data_location);
}

template <typename Visit>
void VisitFields(Visit&& visit, SparseTensorProto& m) {
  visit(1, "values", m.values);
  visit(2, "indices", m.indices);
  visit(3, "dims", m.dims);
}

template <typename Visit>
void VisitFields(Visit&& visit, DimensionProto& m) {
  visit(1, "dim_value", m.dim_value);
  visit(2, "dim_param", m.dim_param);
}

template <typename Visit>
void VisitFields(Visit&& visit, TensorShapeProto& m) {
  visit(1, "dim", m.dim);
}

template <typename Visit>
void VisitFields(Visit&& visit, TensorTypeProto& m) {
  visit(1, "elem_type", m.elem_type);
  visit(2, "shape", m.shape);
}

template <typename Visit>
void VisitFields(Visit&& visit, WrappedTypeProto& m) {
  visit(1, "elem_type", m.elem_type);
}

template <typename Visit>
void VisitFields(Visit&& visit, TypeProto& m) {
  visit(1, "tensor_type", m.tensor_type);
  visit(4, "sequence_type", m.sequence_type);
  visit(9, "optional_type", m.optional_type);
}

template <typename Visit>
void VisitFields(Visit&& visit, ValueInfoProto& m) {
  visit(1, "name", m.name);
  visit(2, "type", m.type);
}

template <typename Visit>
void VisitFields(Visit&& visit, AttributeProto& m) {
  visit(1, "name", m.name);
  visit(2, "f", m.f);
  visit(3, "i", m.i);
  visit(4, "s", m.s);
  visit(5, "t", m.t);
  visit(6, "g", m.g);
  visit(7, "floats", m.floats);
  visit(8, "ints", m.ints);
  visit(9, "strings", m.strings);
  visit(14, "tp", m.tp);
  visit(20, "type", m.type);
  visit(21, "ref_attr_name", m.ref_attr_name);
  visit(22, "sparse_tensor", m.sparse_tensor);
}

template <typename Visit>
void VisitFields(Visit&& visit, NodeProto& m) {
  visit(1, "input", m.input);
  visit(2, "output", m.output);
  visit(3, "name", m.name);
  visit(4, "op_type", m.op_type);
  visit(5, "attribute", m.attribute);
  visit(7, "domain", m.domain);
  visit(8, "overload", m.overload);
}

template <typename Visit>
void VisitFields(Visit&& visit, GraphProto& m) {
  visit(1, "node", m.node);
  visit(2, "name", m.name);
  visit(5, "initializer", m.initializer);
  visit(11, "input", m.input);
  visit(12, "output", m.output);
  visit(15, "sparse_initializer", m.sparse_initializer);
}

template <typename Visit>
void VisitFields(Visit&& visit, FunctionProto& m) {
  visit(1, "name", m.name);
  visit(4, "input", m.input);
  visit(5, "output", m.output);
  visit(6, "attribute", m.attribute);
  visit(7, "node", m.node);
  visit(9, "opset_import", m.opset_import);
  visit(10, "domain", m.domain);
  visit(11, "attribute_proto", m.attribute_proto);
  visit(13, "overload", m.overload);
}

template <typename Visit>
void VisitFields(Visit&& visit, ModelProto& m) {
  visit(1, "ir_version", m.ir_version);
  visit(2, "producer_name", m.producer_name);
  visit(7, "graph", m.graph);
  visit(8, "opset_import", m.opset_import);
  visit(25, "functions", m.functions);
}

template <typename Visit>
void VisitFields(Visit&& visit, SequenceProto& m) {
  visit(2, "elem_type", m.elem_type);
  visit(3, "tensor_values", m.tensor_values);
}

template <typename Visit>
void VisitFields(Visit&& visit, OptionalProto& m) {
  visit(2, "elem_type", m.elem_type);
  visit(3, "tensor_value", m.tensor_value);
  visit(5, "sequence_value", m.sequence_value);
}

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_ONNX_FIELDS_H_
