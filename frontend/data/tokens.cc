#include "sinter/frontend/data/tokens.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/file.h"
#include "sinter/runtime/status.h"

namespace sinter {

namespace {

// The header of llm.c's data files.
constexpr int32_t kMagic = 20240520, kVersion = 1;
constexpr size_t kHeaderBytes = 256 * sizeof(int32_t);

}  // namespace

absl::StatusOr<TokenSet> TokenSet::ReadBytes(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  auto file = std::make_shared<const MappedFile>(std::move(mapped));
  if (file->bytes().empty()) return absl::InvalidArgumentError(absl::StrCat(path, " is empty"));
  TokenSet set;
  set.bytes_ = reinterpret_cast<const uint8_t*>(file->bytes().data());
  set.size_ = static_cast<int64_t>(file->bytes().size());
  set.owner_ = std::move(file);
  return set;
}

absl::StatusOr<TokenSet> TokenSet::ReadU16(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  auto file = std::make_shared<const MappedFile>(std::move(mapped));
  std::span<const std::byte> bytes = file->bytes();
  std::array<int32_t, 3> header = {};
  if (bytes.size() >= kHeaderBytes) std::memcpy(header.data(), bytes.data(), sizeof(header));
  if (header[0] == kMagic) {
    if (header[1] != kVersion) {
      return absl::UnimplementedError(absl::StrCat(
          path, " has version ", header[1], " of llm.c's data files; u16 tokens are version ", kVersion));
    }
    bytes = bytes.subspan(kHeaderBytes);
    if (header[2] < 0 || bytes.size() != sizeof(uint16_t) * static_cast<size_t>(header[2])) {
      return absl::DataLossError(absl::StrCat(path, ": its header declares ", header[2],
                                              " tokens of 2 bytes, but ", bytes.size(), " bytes follow"));
    }
  }
  if (bytes.size() % sizeof(uint16_t) != 0) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", bytes.size(), " bytes, which is no number of tokens of 2 bytes"));
  }
  if (bytes.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " holds no tokens"));
  TokenSet set;
  // A mapping starts at a page, and the header's size is even.
  set.words_ = reinterpret_cast<const uint16_t*>(bytes.data());
  set.size_ = static_cast<int64_t>(bytes.size() / sizeof(uint16_t));
  set.owner_ = std::move(file);
  return set;
}

absl::StatusOr<TokenSet> TokenSet::FromVector(std::vector<uint16_t> tokens) {
  if (tokens.empty()) return absl::InvalidArgumentError("a set of tokens needs at least one");
  auto kept = std::make_shared<const std::vector<uint16_t>>(std::move(tokens));
  TokenSet set;
  set.words_ = kept->data();
  set.size_ = static_cast<int64_t>(kept->size());
  set.owner_ = std::move(kept);
  return set;
}

int32_t TokenSet::Largest() const {
  return bytes_ ? *std::max_element(bytes_, bytes_ + size_) : *std::max_element(words_, words_ + size_);
}

absl::StatusOr<TokenSet> TokenSet::Part(int64_t begin, int64_t end) const {
  if (begin < 0 || begin >= end || end > size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokens ", begin, " to ", end, " are no part of ", size_, " tokens"));
  }
  TokenSet part = *this;
  if (bytes_) part.bytes_ += begin;
  if (words_) part.words_ += begin;
  part.size_ = end - begin;
  return part;
}

absl::Status TokenSet::CheckWindows(const HostTensor& x, const HostTensor& y) const {
  for (const HostTensor* t : {&x, &y}) {
    if (t->dtype() == DType::kI32 && t->rank() == 2 && t->shape() == x.shape() && !t->is_read_only())
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat("windows of tokens need two writable i32 tensors of one shape [batch, time], got ",
                     x.ToString(), " and ", y.ToString()));
  }
  if (size_ > x.shape()[1]) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a window of ", x.shape()[1],
                                                 " tokens and the one behind it do not fit in ", size_,
                                                 " tokens; take more text or shorter windows"));
}

void TokenSet::CopyWindow(int64_t start, int64_t row, HostTensor& x, HostTensor& y) const {
  const int64_t time = x.shape()[1];
  int32_t* inputs = static_cast<int32_t*>(x.mutable_data()) + row * time;
  int32_t* targets = static_cast<int32_t*>(y.mutable_data()) + row * time;
  for (int64_t t = 0; t < time; ++t) {
    inputs[t] = (*this)[start + t];
    targets[t] = (*this)[start + t + 1];
  }
}

absl::Status TokenSet::Draw(SplitMix& bits, HostTensor& x, HostTensor& y) const {
  SINTER_RETURN_IF_ERROR(CheckWindows(x, y));
  const uint64_t places = static_cast<uint64_t>(size_ - x.shape()[1]);
  for (int64_t row = 0; row < x.shape()[0]; ++row) {
    CopyWindow(static_cast<int64_t>(bits.Below(places)), row, x, y);
  }
  return absl::OkStatus();
}

absl::Status TokenSet::Read(int64_t first, HostTensor& x, HostTensor& y) const {
  SINTER_RETURN_IF_ERROR(CheckWindows(x, y));
  const int64_t time = x.shape()[1], last = first + x.num_elements();
  if (first < 0 || last >= size_) {
    return absl::InvalidArgumentError(absl::StrCat("windows over tokens ", first, " to ", last, " leave the ",
                                                   size_, " tokens that there are"));
  }
  for (int64_t row = 0; row < x.shape()[0]; ++row) CopyWindow(first + row * time, row, x, y);
  return absl::OkStatus();
}

}  // namespace sinter
