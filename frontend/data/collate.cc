#include "sinter/frontend/data/collate.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

absl::Status Differs(const Rows& rows, size_t field, size_t row, const char* fix) {
  return absl::InvalidArgumentError(absl::StrCat(
      "field '", rows.names[field], "' is ", rows.examples[0].fields[field].ToString(), " in row 0 and ",
      rows.examples[row].fields[field].ToString(), " in row ", row, "; ", fix));
}

absl::StatusOr<HostTensor> StackField(const Rows& rows, size_t field) {
  const HostTensor& first = rows.examples[0].fields[field];
  std::vector<int64_t> shape = first.shape();
  shape.insert(shape.begin(), rows.rows);
  SINTER_ASSIGN_OR_RETURN(HostTensor batch, rows.Empty(first.dtype(), std::move(shape)));
  const auto bytes = static_cast<size_t>(first.num_bytes());
  auto* to = static_cast<std::byte*>(batch.mutable_data());
  for (size_t row = 0; row < rows.examples.size(); ++row) {
    const HostTensor& part = rows.examples[row].fields[field];
    if (part.dtype() != first.dtype() || part.shape() != first.shape()) {
      return Differs(rows, field, row, "Stack needs equal shapes: use Pad, Bucket, or a Map that crops");
    }
    if (bytes > 0) std::memcpy(to + row * bytes, part.data(), bytes);
  }
  const size_t used = rows.examples.size() * bytes;
  if (bytes > 0) std::memset(to + used, 0, static_cast<size_t>(batch.num_bytes()) - used);
  return batch;
}

absl::Status Fill(double value, HostTensor& tensor) {
  std::byte element[sizeof(double)];
  SINTER_RETURN_IF_ERROR(StoreNumber(value, tensor.dtype(), element));
  const auto bytes = static_cast<size_t>(tensor.num_bytes()),
             size = static_cast<size_t>(SizeOf(tensor.dtype()));
  auto* to = static_cast<std::byte*>(tensor.mutable_data());
  for (size_t at = 0; at < bytes; at += size) std::memcpy(to + at, element, size);
  return absl::OkStatus();
}

// True if the two have one type, and sizes that are equal but for the first.
bool AreAlike(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.rank() == b.rank() && a.rank() > 0 &&
         std::equal(a.shape().begin() + 1, a.shape().end(), b.shape().begin() + 1);
}

class Padding {
 public:
  Padding(std::vector<std::string> fields, PadOptions options, std::vector<int64_t> lengths, bool has_buckets)
      : fields_(std::move(fields)),
        options_(options),
        buckets_(std::move(lengths)),
        has_buckets_(has_buckets) {}

  absl::StatusOr<std::vector<HostTensor>> Join(const Rows& rows) const {
    SINTER_RETURN_IF_ERROR(Check(rows));
    SINTER_ASSIGN_OR_RETURN(const std::optional<int64_t> common, CommonLength(rows));
    std::vector<HostTensor> batch, lengths;
    for (size_t field = 0; field < rows.names.size(); ++field) {
      if (!IsPadded(rows.names[field])) {
        SINTER_ASSIGN_OR_RETURN(HostTensor stacked, StackField(rows, field));
        batch.push_back(std::move(stacked));
        continue;
      }
      SINTER_ASSIGN_OR_RETURN(HostTensor padded, PadField(rows, field, common));
      batch.push_back(std::move(padded));
      if (options_.lengths == LengthsOf::kNone) continue;
      if (options_.lengths == LengthsOf::kExample && !lengths.empty()) continue;
      SINTER_ASSIGN_OR_RETURN(HostTensor counts, Lengths(rows, field));
      lengths.push_back(std::move(counts));
    }
    std::ranges::move(lengths, std::back_inserter(batch));
    return batch;
  }

  std::vector<std::string> Names(std::vector<std::string> names) const {
    if (options_.lengths == LengthsOf::kNone) return names;
    if (options_.lengths == LengthsOf::kExample) {
      names.emplace_back("lengths");
      return names;
    }
    const std::vector<std::string> fields = names;
    for (const std::string& name : fields) {
      if (IsPadded(name)) names.push_back(name + "_lengths");
    }
    return names;
  }

 private:
  bool IsPadded(const std::string& name) const { return std::ranges::find(fields_, name) != fields_.end(); }

  absl::Status Check(const Rows& rows) const {
    if (options_.multiple < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Pad's multiple is ", options_.multiple, ", it must be at least 1"));
    }
    if (fields_.empty()) return absl::InvalidArgumentError("Pad is given no field to pad; use Stack");
    for (const std::string& name : fields_) {
      if (std::ranges::find(rows.names, name) != rows.names.end()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Pad is to pad '", name, "', but the fields are ", absl::StrJoin(rows.names, ", ")));
    }
    if (!has_buckets_) return absl::OkStatus();
    const bool rise = std::ranges::adjacent_find(buckets_, std::greater_equal<>()) == buckets_.end();
    if (!buckets_.empty() && rise && buckets_[0] > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the lengths of Bucket are ",
                                                   absl::StrJoin(buckets_, ", "),
                                                   "; they must be above 0 and rise, such as 64, 128"));
  }

  // Returns the first padded field of which the example's length differs from that of the first; nullopt if
  // there is none.
  std::optional<size_t> OtherLength(const Rows& rows, size_t row, size_t first) const {
    const std::vector<HostTensor>& fields = rows.examples[row].fields;
    for (size_t field = first + 1; field < rows.names.size(); ++field) {
      if (!IsPadded(rows.names[field]) || fields[field].rank() == 0) continue;
      if (fields[field].shape()[0] != fields[first].shape()[0]) return field;
    }
    return std::nullopt;
  }

  // Fails if the lengths of an example differ and should not.
  absl::Status CheckLengths(const Rows& rows) const {
    if (options_.lengths != LengthsOf::kExample) return absl::OkStatus();
    size_t first = 0;
    while (!IsPadded(rows.names[first])) ++first;
    for (size_t row = 0; row < rows.examples.size(); ++row) {
      const std::vector<HostTensor>& fields = rows.examples[row].fields;
      if (fields[first].rank() == 0) continue;
      const std::optional<size_t> other = OtherLength(rows, row, first);
      if (!other) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("field '", rows.names[first], "' has length ", fields[first].shape()[0], " in row ",
                       row, " and field '", rows.names[*other], "' has ", fields[*other].shape()[0],
                       "; LengthsOf::kExample needs one length: use kEachField"));
    }
    return absl::OkStatus();
  }

  // Returns the padded length of all padded fields; nullopt if each has its own.
  absl::StatusOr<std::optional<int64_t>> CommonLength(const Rows& rows) const {
    SINTER_RETURN_IF_ERROR(CheckLengths(rows));
    if (options_.own_lengths.value_or(!has_buckets_)) return std::nullopt;
    int64_t common = 0;
    for (size_t field = 0; field < rows.names.size(); ++field) {
      // PadField reports a scalar.
      if (!IsPadded(rows.names[field]) || rows.examples[0].fields[field].rank() == 0) continue;
      SINTER_ASSIGN_OR_RETURN(const int64_t length, PaddedLength(rows, field));
      common = std::max(common, length);
    }
    return common;
  }

  absl::StatusOr<int64_t> PaddedLength(const Rows& rows, size_t field) const {
    int64_t longest = 0;
    size_t row = 0;
    for (size_t i = 0; i < rows.examples.size(); ++i) {
      const HostTensor& part = rows.examples[i].fields[field];
      const int64_t length = part.rank() == 0 ? 0 : part.shape()[0];
      if (length > longest) row = i;
      longest = std::max(longest, length);
    }
    if (!has_buckets_) return (longest + options_.multiple - 1) / options_.multiple * options_.multiple;
    const auto bucket = std::ranges::lower_bound(buckets_, longest);
    if (bucket != buckets_.end()) return *bucket;
    return absl::InvalidArgumentError(absl::StrCat(
        "field '", rows.names[field], "' has length ", longest, " in row ", row, ", the largest bucket is ",
        buckets_.back(), "; add a larger one, or cut the example in a Map"));
  }

  absl::StatusOr<HostTensor> PadField(const Rows& rows, size_t field, std::optional<int64_t> common) const {
    const HostTensor& first = rows.examples[0].fields[field];
    if (first.rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat("field '", rows.names[field], "' is a scalar, ",
                                                     first.ToString(), "; Pad needs a dimension to pad"));
    }
    for (size_t row = 0; row < rows.examples.size(); ++row) {
      const HostTensor& part = rows.examples[row].fields[field];
      if (!AreAlike(first, part)) {
        return Differs(rows, field, row, "Pad needs one type, and equal sizes but for dimension 0");
      }
    }
    if (!common) {
      SINTER_ASSIGN_OR_RETURN(common, PaddedLength(rows, field));
    }
    std::vector<int64_t> shape = first.shape();
    shape[0] = *common;
    shape.insert(shape.begin(), rows.rows);
    SINTER_ASSIGN_OR_RETURN(HostTensor batch, rows.Empty(first.dtype(), std::move(shape)));
    SINTER_RETURN_IF_ERROR(Fill(options_.value, batch));
    auto* to = static_cast<std::byte*>(batch.mutable_data());
    const int64_t row_bytes = batch.num_bytes() / rows.rows;
    for (size_t row = 0; row < rows.examples.size(); ++row) {
      const HostTensor& part = rows.examples[row].fields[field];
      if (part.num_bytes() == 0) continue;
      std::memcpy(to + static_cast<int64_t>(row) * row_bytes, part.data(),
                  static_cast<size_t>(part.num_bytes()));
    }
    return batch;
  }

  static absl::StatusOr<HostTensor> Lengths(const Rows& rows, size_t field) {
    SINTER_ASSIGN_OR_RETURN(HostTensor lengths, rows.Empty(DType::kI32, {rows.rows}));
    SINTER_ASSIGN_OR_RETURN(const std::span<int32_t> values, lengths.MutableSpan<int32_t>());
    std::ranges::fill(values, 0);
    for (size_t row = 0; row < rows.examples.size(); ++row) {
      values[row] = static_cast<int32_t>(rows.examples[row].fields[field].shape()[0]);
    }
    return lengths;
  }

  const std::vector<std::string> fields_;
  const PadOptions options_;
  const std::vector<int64_t> buckets_;
  const bool has_buckets_;
};

Collate PadTo(std::vector<std::string> fields, PadOptions options, std::vector<int64_t> lengths,
              bool has_buckets) {
  const auto padding =
      std::make_shared<const Padding>(std::move(fields), options, std::move(lengths), has_buckets);
  return {.join = [padding](const Rows& rows) { return padding->Join(rows); },
          .names = [padding](const std::vector<std::string>& fields) { return padding->Names(fields); }};
}

}  // namespace

absl::StatusOr<HostTensor> Rows::Empty(DType dtype, std::vector<int64_t> shape) const {
  if (memory != nullptr) return HostTensor::Empty(dtype, std::move(shape), *memory);
  return HostTensor::Empty(dtype, std::move(shape));
}

Collate Stack() {
  return {.join = [](const Rows& rows) -> absl::StatusOr<std::vector<HostTensor>> {
    std::vector<HostTensor> batch;
    for (size_t field = 0; field < rows.names.size(); ++field) {
      SINTER_ASSIGN_OR_RETURN(HostTensor stacked, StackField(rows, field));
      batch.push_back(std::move(stacked));
    }
    return batch;
  }};
}

Collate Pad(std::vector<std::string> fields, PadOptions options) {
  return PadTo(std::move(fields), options, {}, /*has_buckets=*/false);
}

Collate Bucket(std::vector<std::string> fields, std::vector<int64_t> lengths, PadOptions options) {
  return PadTo(std::move(fields), options, std::move(lengths), /*has_buckets=*/true);
}

}  // namespace sinter::data
