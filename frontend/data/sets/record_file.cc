#include "sinter/frontend/data/sets/record_file.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {

absl::StatusOr<RecordFile> RecordFile::Open(const std::string& path, Quotes quotes) {
  SINTER_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  constexpr uint64_t kPiece = 1 << 20;
  const uint64_t size = file.size();
  std::vector<char> piece(std::min(size, kPiece));
  RecordFile records;
  bool is_quoted = false;
  for (uint64_t begin = 0; begin < size; begin += kPiece) {
    const std::span<char> text = std::span(piece).first(std::min(kPiece, size - begin));
    SINTER_RETURN_IF_ERROR(file.Read(begin, std::as_writable_bytes(text)));
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"' && quotes == Quotes::kQuoted) is_quoted = !is_quoted;
      if (text[i] == '\n' && !is_quoted) records.ends_.push_back(static_cast<int64_t>(begin + i + 1));
    }
  }
  if (is_quoted) {
    return absl::DataLossError(
        absl::StrCat(path, ": row ", records.ends_.size() + 1, " has a quote (\") that is not closed"));
  }
  const bool has_rest = records.ends_.empty() ? size > 0 : records.ends_.back() < static_cast<int64_t>(size);
  if (has_rest) records.ends_.push_back(static_cast<int64_t>(size));
  records.ends_.shrink_to_fit();
  records.file_ = std::make_shared<const FileReader>(std::move(file));
  return records;
}

absl::StatusOr<std::string> RecordFile::Read(int64_t i) const {
  const int64_t begin = i == 0 ? 0 : ends_[static_cast<size_t>(i - 1)];
  std::string text(static_cast<size_t>(ends_[static_cast<size_t>(i)] - begin), '\0');
  SINTER_RETURN_IF_ERROR(file_->Read(static_cast<uint64_t>(begin), std::as_writable_bytes(std::span(text))));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

absl::StatusOr<HostTensor> TextTensor(std::string_view text) {
  SINTER_ASSIGN_OR_RETURN(HostTensor bytes,
                          HostTensor::Empty(DType::kU8, {static_cast<int64_t>(text.size())}));
  if (!text.empty()) std::memcpy(bytes.mutable_data(), text.data(), text.size());
  return bytes;
}

}  // namespace sinter::data
