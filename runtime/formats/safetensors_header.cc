// ParseSafetensorsHeader, the part of safetensors.h that handles untrusted bytes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"

namespace sinter {
namespace {

using Json = nlohmann::json;

// Builds the header during parsing. So it stores nothing that the format forbids, at any depth, and detects
// repeated names, which a parsed document would hide.
class HeaderBuilder : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader Take() { return std::move(header_); }
  const std::string& error() const { return error_; }

  bool key(string_t& key) override {
    key_ = key;
    if (where_ == Where::kTop) {
      if (!names_.insert(key).second)
        return Refuse(absl::StrCat("the name '", PrintableText(key), "' occurs twice"));
      return true;
    }
    if (where_ == Where::kMetadata) {
      if (header_.metadata.contains(key))
        return Refuse(absl::StrCat("the metadata key '", PrintableText(key), "' occurs twice"));
      return true;
    }
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      return Refuse(absl::StrCat("tensor '", PrintableText(entry_.name), "' has the unknown key '",
                                 PrintableText(key), "'"));
    }
    if (!keys_.insert(key).second)
      return Refuse(
          absl::StrCat("tensor '", PrintableText(entry_.name), "' has two '", PrintableText(key), "'"));
    return true;
  }

  bool start_object(size_t) override {
    if (where_ == Where::kBegin) {
      where_ = Where::kTop;
      return true;
    }
    if (where_ != Where::kTop) return Misplaced("an object");
    where_ = key_ == "__metadata__" ? Where::kMetadata : Where::kEntry;
    entry_ = {};
    entry_.name = key_;
    keys_.clear();
    offsets_.clear();
    return true;
  }

  bool end_object() override {
    if (where_ == Where::kTop) {
      where_ = Where::kDone;
      return true;
    }
    const bool was_entry = std::exchange(where_, Where::kTop) == Where::kEntry;
    return was_entry ? FinishEntry() : true;
  }

  bool start_array(size_t) override {
    if (where_ != Where::kEntry || key_ == "dtype") return Misplaced("a list");
    where_ = key_ == "shape" ? Where::kShape : Where::kOffsets;
    return true;
  }

  bool end_array() override {
    where_ = Where::kEntry;
    return true;
  }

  bool string(string_t& text) override {
    if (where_ == Where::kMetadata) {
      header_.metadata[key_] = text;
      return true;
    }
    if (where_ != Where::kEntry || key_ != "dtype") return Misplaced("a string");
    type_ = text;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (where_ == Where::kShape) {
      if (value > INT64_MAX)
        return Refuse(absl::StrCat("tensor '", PrintableText(entry_.name), "' has dimension ", value));
      entry_.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (where_ != Where::kOffsets) return Misplaced("a number");
    if (offsets_.size() == 2)
      return Refuse(absl::StrCat("tensor '", PrintableText(entry_.name), "' has more than two data_offsets"));
    offsets_.push_back(value);
    return true;
  }

  bool number_integer(number_integer_t value) override {
    return Misplaced(absl::StrCat("the number ", value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return Misplaced(absl::StrCat("the number ", text));
  }
  bool boolean(bool) override { return Misplaced("a boolean"); }
  bool null() override { return Misplaced("null"); }
  bool binary(binary_t&) override { return Misplaced("binary data"); }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    return Refuse(absl::StrCat("no valid JSON at its byte ", position, ": ", PrintableText(error.what())));
  }

 private:
  enum class Where { kBegin, kTop, kMetadata, kEntry, kShape, kOffsets, kDone };

  bool Refuse(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return false;
  }

  bool Misplaced(const std::string& what) {
    switch (where_) {
      case Where::kBegin:
      case Where::kDone:
        return Refuse(absl::StrCat("it is ", what, ", not an object"));
      case Where::kTop:
        return Refuse(absl::StrCat("'", PrintableText(key_), "' is ", what, ", not an object"));
      case Where::kMetadata:
        return Refuse(absl::StrCat("the metadata '", PrintableText(key_), "' is ", what, ", not a string"));
      default:
        return Refuse(absl::StrCat("'", key_, "' of tensor '", PrintableText(entry_.name), "' has ", what,
                                   " where it should not; it is ",
                                   key_ == "dtype" ? "a string" : "a list of integers from 0 on"));
    }
  }

  bool FinishEntry() {
    if (keys_.size() != 3) {
      return Refuse(absl::StrCat("tensor '", PrintableText(entry_.name),
                                 "' lacks one of dtype, shape and data_offsets"));
    }
    if (offsets_.size() != 2) {
      return Refuse(absl::StrCat("tensor '", PrintableText(entry_.name), "' has ", offsets_.size(),
                                 " data_offsets instead of two"));
    }
    const auto* type = std::ranges::find(kDTypes, std::string_view(type_), &DTypeRecord::safetensors);
    if (type == std::end(kDTypes)) {
      const auto name = [](std::string* out, const DTypeRecord& known) { out->append(known.safetensors); };
      return Refuse(absl::StrCat("tensor '", PrintableText(entry_.name), "' has the element type '",
                                 PrintableText(type_), "'; supported are ",
                                 absl::StrJoin(kDTypes, ", ", name)));
    }
    entry_.dtype = static_cast<DType>(type - kDTypes);
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    header_.entries.push_back(std::move(entry_));
    return true;
  }

  Where where_ = Where::kBegin;
  SafetensorsHeader header_;
  SafetensorsEntry entry_;
  std::string key_;
  std::string type_;
  std::vector<uint64_t> offsets_;
  std::unordered_set<std::string> keys_;   // Keys seen in this entry.
  std::unordered_set<std::string> names_;  // Names seen at the top level.
  std::string error_;
};

// Checks that the entries' data, sorted by position, cover 0 to `data_bytes` without holes or overlaps.
absl::Status CheckPlaces(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes,
                         const std::string& name) {
  uint64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    const auto damaged = [&](const auto&... parts) {
      return absl::DataLossError(absl::StrCat(name, ": tensor '", PrintableText(entry.name), "' ", parts...));
    };
    const std::string place = absl::StrCat("[", entry.begin, ", ", entry.end, ")");
    if (entry.end < entry.begin) return damaged("ends before it begins: ", place);
    if (entry.end > data_bytes) {
      return damaged("lies at ", place, ", but the file has only ", data_bytes,
                     " bytes of data: it is cut short or altered");
    }
    const absl::StatusOr<int64_t> bytes = DenseBytes(entry.dtype, entry.shape);
    if (!bytes.ok()) return damaged("cannot be: ", bytes.status().message());
    if (static_cast<uint64_t>(*bytes) != entry.end - entry.begin) {
      return damaged("of ", ShapeToString(entry.dtype, entry.shape), " takes ", *bytes,
                     " bytes, but lies at ", place);
    }
    if (entry.begin < at) return damaged("at ", place, " overlaps the tensor that ends at ", at);
    if (entry.begin > at) return damaged("at ", place, " leaves a hole after ", at);
    at = entry.end;
  }
  if (at == data_bytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(name, ": ", data_bytes - at, " bytes follow the last tensor"));
}

}  // namespace

std::string_view SafetensorsTypeName(DType dtype) { return RecordOf(dtype).safetensors; }

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> bytes,
                                                         uint64_t file_bytes, const std::string& name) {
  if (bytes.size() < 8) {
    return absl::DataLossError(
        absl::StrCat(name, ": ", file_bytes, " bytes are too few for a safetensors file"));
  }
  const uint64_t header_bytes = LoadLittle<uint64_t>(bytes.data());
  if (header_bytes > kMaxSafetensorsHeaderBytes) {
    return absl::DataLossError(absl::StrCat(name, ": no safetensors file: its header claims ", header_bytes,
                                            " bytes; at most ", kMaxSafetensorsHeaderBytes, " are allowed"));
  }
  if (header_bytes > bytes.size() - 8) {
    return absl::DataLossError(absl::StrCat(name, ": cut short in its header: ", header_bytes,
                                            " bytes expected, ", bytes.size() - 8, " there"));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  if (!text.starts_with('{')) {
    return absl::DataLossError(
        absl::StrCat(name, ": no safetensors file: its header does not begin with '{'"));
  }
  HeaderBuilder builder;
  bool parsed = false;
  std::string error;
  try {
    parsed = Json::sax_parse(text, &builder);
    error = builder.error();
  } catch (const std::bad_alloc&) {
    throw;  // WithinMemory handles it, after all parsed data is freed.
  } catch (const std::exception& exception) {
    error = exception.what();
  }
  if (!parsed) return absl::DataLossError(absl::StrCat(name, ": bad safetensors header: ", error));
  if (text[text.find_last_not_of(' ')] != '}') {
    return absl::DataLossError(
        absl::StrCat(name, ": bad safetensors header: behind its '}' are bytes other than spaces"));
  }
  SafetensorsHeader header = builder.Take();
  // An empty tensor sorts before the data at the same position.
  std::ranges::sort(header.entries, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  header.data_begin = 8 + header_bytes;
  SINTER_RETURN_IF_ERROR(CheckPlaces(header.entries, file_bytes - header.data_begin, name));
  return header;
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> bytes,
                                                         const std::string& name) {
  return ParseSafetensorsHeader(bytes, bytes.size(), name);
}

}  // namespace sinter
