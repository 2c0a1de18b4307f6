#include "sinter/frontend/data/sets/shards.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/sets/lines.h"
#include "sinter/frontend/data/sets/tar_file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace sinter::data {
namespace {

// The place of a field's bytes.
struct Extent {
  size_t file = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

class ShardSource : public Source {
 public:
  explicit ShardSource(std::vector<std::string> fields) : fields_(std::move(fields)) {}

  int64_t size() const override { return static_cast<int64_t>(extents_.size() / fields_.size()); }
  std::vector<std::string> names() const override { return fields_; }

  absl::StatusOr<Example> Get(int64_t i, SplitMix&) const override {
    Example example;
    for (size_t f = 0; f < fields_.size(); ++f) {
      const Extent& extent = extents_[static_cast<size_t>(i) * fields_.size() + f];
      SINTER_ASSIGN_OR_RETURN(HostTensor bytes,
                              HostTensor::Empty(DType::kU8, {static_cast<int64_t>(extent.size)}));
      SINTER_RETURN_IF_ERROR(files_[extent.file].Read(extent.offset, MutableBytesOf(bytes)));
      example.fields.push_back(std::move(bytes));
    }
    return example;
  }

  absl::Status Add(const std::string& path) {
    SINTER_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
    SINTER_ASSIGN_OR_RETURN(const std::vector<TarMember> members, ListTar(file));
    files_.push_back(std::move(file));
    for (size_t at = 0; at < members.size();) {
      size_t end = at;
      const std::string key = KeyOf(members[at].name);
      while (end < members.size() && KeyOf(members[end].name) == key) ++end;
      SINTER_RETURN_IF_ERROR(AddExample(path, key, std::span(members).subspan(at, end - at)));
      at = end;
    }
    return absl::OkStatus();
  }

 private:
  // The name up to the first dot behind the last slash.
  static std::string KeyOf(const std::string& name) {
    const size_t slash = name.rfind('/');
    return name.substr(0, name.find('.', slash == std::string::npos ? 0 : slash + 1));
  }

  absl::Status AddExample(const std::string& path, const std::string& key,
                          std::span<const TarMember> members) {
    for (const std::string& field : fields_) {
      const auto found = std::ranges::find(members, absl::StrCat(key, ".", field), &TarMember::name);
      if (found == members.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": example '", key, "' has no file '", key, ".", field, "'"));
      }
      extents_.push_back({files_.size() - 1, found->offset, found->size});
    }
    return absl::OkStatus();
  }

  const std::vector<std::string> fields_;
  std::vector<FileReader> files_;
  std::vector<Extent> extents_;  // Places of all fields of all examples.
};

}  // namespace

absl::StatusOr<Dataset> Shards(const std::vector<std::string>& paths,
                               const std::vector<std::string>& fields) {
  if (paths.empty() || fields.empty()) {
    return absl::InvalidArgumentError("Shards needs at least one tar file and one field, such as 'jpg'");
  }
  auto source = std::make_shared<ShardSource>(fields);
  for (const std::string& path : paths) SINTER_RETURN_IF_ERROR(source->Add(path));
  return Dataset(std::move(source));
}

MapFunction DecodeImageField(DecodeOptions options, size_t field) {
  return [options, field](Example example, SplitMix&) -> absl::StatusOr<Example> {
    if (field >= example.fields.size()) {
      return absl::InvalidArgumentError(absl::StrCat("DecodeImageField is to decode field ", field,
                                                     ", but the example has ", example.fields.size(),
                                                     " fields"));
    }
    SINTER_ASSIGN_OR_RETURN(const std::string bytes, TextOf(example.fields[field]));
    SINTER_ASSIGN_OR_RETURN(example.fields[field],
                            DecodeImage(AsBytes(bytes), absl::StrCat("field ", field), options));
    return example;
  };
}

MapFunction ParseIntegerField(size_t field) {
  return [field](Example example, SplitMix&) -> absl::StatusOr<Example> {
    if (field >= example.fields.size()) {
      return absl::InvalidArgumentError(absl::StrCat("ParseIntegerField is to parse field ", field,
                                                     ", but the example has ", example.fields.size(),
                                                     " fields"));
    }
    SINTER_ASSIGN_OR_RETURN(const std::string text, TextOf(example.fields[field]));
    int32_t number = 0;
    if (!absl::SimpleAtoi(text, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("field ", field, " is '", text, "', which is no number of type i32"));
    }
    SINTER_ASSIGN_OR_RETURN(example.fields[field], HostTensor::FromVector<int32_t>({}, {number}));
    return example;
  };
}

}  // namespace sinter::data
