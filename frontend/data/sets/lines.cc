#include "sinter/frontend/data/sets/lines.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/sets/record_file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

class LinesSource : public Source {
 public:
  LinesSource(RecordFile file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  int64_t size() const override { return file_.size(); }
  std::vector<std::string> names() const override { return {name_}; }

  absl::StatusOr<Example> Get(int64_t i, SplitMix&) const override {
    SINTER_ASSIGN_OR_RETURN(const std::string line, file_.Read(i));
    SINTER_ASSIGN_OR_RETURN(HostTensor text, TextTensor(line));
    Example example;
    example.fields.push_back(std::move(text));
    return example;
  }

 private:
  const RecordFile file_;
  const std::string name_;
};

}  // namespace

absl::StatusOr<Dataset> Lines(std::vector<std::string> paths, const LinesOptions& options) {
  if (paths.empty()) return absl::InvalidArgumentError("Lines needs at least one file");
  std::vector<Dataset> sets;
  for (const std::string& path : paths) {
    SINTER_ASSIGN_OR_RETURN(RecordFile file, RecordFile::Open(path, RecordFile::Quotes::kPlain));
    sets.emplace_back(std::make_shared<const LinesSource>(std::move(file), options.name));
  }
  if (sets.size() == 1) return sets[0];
  return Concat(std::move(sets));
}

absl::StatusOr<Dataset> Lines(const std::string& path, const LinesOptions& options) {
  return Lines(std::vector<std::string>{path}, options);
}

absl::StatusOr<std::string> TextOf(const HostTensor& field) {
  if (field.dtype() != DType::kU8 || field.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("a text is u8 [bytes], the field is ", field.ToString()));
  }
  return std::string(static_cast<const char*>(field.data()), static_cast<size_t>(field.num_elements()));
}

}  // namespace sinter::data
