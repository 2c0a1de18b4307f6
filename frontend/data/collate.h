// Joins the examples of a batch: field by field, one row for each example.
//
//   data::Loader::Create(text, {.batch = 32, .collate = data::Bucket({"ids"}, {64, 128, 256})});
//   // ids i32 [32, 64], [32, 128] or [32, 256]; ids_lengths i32 [32].
//
// A function of Graph::Buckets with the same lengths runs such batches. Fields that belong together have one
// length in each batch:
//
//   data::Bucket({"ids", "tags"}, {64, 128}, {.lengths = data::LengthsOf::kExample});
//   // ids and tags i32 [32, 64], or both [32, 128]; lengths i32 [32].
//   graph.Buckets("train", sn::Mode::kTrain, {64, 128}, [&](sn::Builder& b, int64_t time) {
//     sn::Tensor ids = b.Input("ids", sn::I32, {32, time}), tags = b.Input("tags", sn::I32, {32, time});
//     sn::Tensor lengths = b.Input("lengths", sn::I32, {32});
//     ...
//   });
//
// Rows that no example fills are zeros (LastBatch::kPad). A program's own way is a Collate of its own
// function.
#ifndef SINTER_FRONTEND_DATA_COLLATE_H_
#define SINTER_FRONTEND_DATA_COLLATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::data {

// The rows that a Collate joins.
struct Rows {
  std::span<const Example> examples;
  std::vector<std::string> names;      // Names of the examples' fields.
  int64_t rows = 0;                    // Rows of the batch; at least as many as examples.
  CachingAllocator* memory = nullptr;  // For the batch. Null: the main memory.

  // Makes a tensor for the batch, with undefined values.
  absl::StatusOr<HostTensor> Empty(DType dtype, std::vector<int64_t> shape) const;
};

struct Collate {
  // Gives the batch's tensors, whose first sizes are rows.rows. Several threads call it at once.
  std::function<absl::StatusOr<std::vector<HostTensor>>(const Rows& rows)> join;
  // Gives the names of these tensors, for the names of the fields. Empty: they are the same.
  std::function<std::vector<std::string>(const std::vector<std::string>& fields)> names = {};
};

// Fields of one type and shape become [rows, shape...]. InvalidArgument if two examples differ; the message
// names the field and the rows.
Collate Stack();

// The lengths that come behind the fields of a set, i32 [rows].
enum class LengthsOf {
  kEachField,  // For each padded field `x` the tensor `x_lengths`.
  kExample,    // One tensor, `lengths`. An example whose padded fields have several lengths is an error.
  kNone,
};

struct PadOptions {
  double value = 0;      // Fills the padding, and rows without an example.
  int64_t multiple = 1;  // The padded length is a multiple of it.
  LengthsOf lengths = LengthsOf::kEachField;
  // Each padded field has a length of its own, as source and target of a translation. Else all have that of
  // the longest field of the batch. By default Pad's fields have their own, and Bucket's have one.
  std::optional<bool> own_lengths = {};
};

// The fields of these names, [length, shape...], become [rows, longest, shape...], each filled up at its end.
// Behind the set's fields come their lengths (LengthsOf). Other fields are stacked. InvalidArgument: no
// field, a field of rank 0, a name that no field has, other sizes that differ, a `value` that the type cannot
// hold, or a multiple below 1.
Collate Pad(std::vector<std::string> fields, PadOptions options = {});

// Like Pad, but the padded length is the smallest of `lengths` that holds the batch, so that a program needs
// few shapes. One bucket holds all padded fields, unless they have own_lengths. InvalidArgument for an
// example that is longer than all of them, for no lengths, or for lengths that do not rise.
Collate Bucket(std::vector<std::string> fields, std::vector<int64_t> lengths, PadOptions options = {});

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_COLLATE_H_
