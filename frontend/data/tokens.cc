#include "sinter/frontend/data/tokens.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"

namespace sinter {

namespace {

// The headers of llm.c's data files (dev/data/data_common.py).
struct HeaderForm {
  int32_t magic, version;
};
constexpr HeaderForm kGpt2Header = {20240520, 1}, kLlama3Header = {20240801, 7};
constexpr size_t kHeaderBytes = 256 * sizeof(int32_t);

}  // namespace

absl::StatusOr<TokenSet> TokenSet::ReadBytes(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  if (file.size() == 0) return absl::InvalidArgumentError(absl::StrCat(path, " is empty"));
  TokenSet set;
  set.bytes_ = 1;
  set.size_ = static_cast<int64_t>(file.size());
  set.file_ = std::make_shared<const FileReader>(std::move(file));
  return set;
}

absl::StatusOr<TokenSet> TokenSet::ReadU16(const std::string& path) {
  return ReadWide(path, sizeof(uint16_t), kGpt2Header.magic, kGpt2Header.version);
}

absl::StatusOr<TokenSet> TokenSet::ReadU32(const std::string& path) {
  return ReadWide(path, sizeof(uint32_t), kLlama3Header.magic, kLlama3Header.version);
}

absl::StatusOr<TokenSet> TokenSet::ReadWide(const std::string& path, int64_t width, int32_t magic,
                                            int32_t version) {
  SINTER_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  auto bytes = static_cast<int64_t>(file.size());
  std::array<int32_t, 3> header = {};
  if (file.size() >= kHeaderBytes) {
    SINTER_RETURN_IF_ERROR(file.Read(0, std::as_writable_bytes(std::span(header))));
  }
  TokenSet set;
  set.bytes_ = width;
  const int32_t other = magic == kGpt2Header.magic ? kLlama3Header.magic : kGpt2Header.magic;
  if (header[0] == other) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has the header of tokens of ", 6 - width,
                                                   " bytes, not of ", width, "; use ",
                                                   width == 2 ? "ReadU32" : "ReadU16"));
  }
  if (header[0] == magic) {
    if (header[1] != version) {
      return absl::UnimplementedError(absl::StrCat(path, " has version ", header[1],
                                                   " of llm.c's data files; u", 8 * width,
                                                   " tokens are version ", version));
    }
    bytes -= static_cast<int64_t>(kHeaderBytes);
    set.first_ = kHeaderBytes;
    if (header[2] < 0 || bytes != width * header[2]) {
      return absl::DataLossError(absl::StrCat(path, ": its header declares ", header[2], " tokens of ", width,
                                              " bytes, but ", bytes, " bytes follow"));
    }
  }
  if (bytes % width != 0) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", bytes, " bytes, which is no number of tokens of ", width, " bytes"));
  }
  if (bytes == 0) return absl::InvalidArgumentError(absl::StrCat(path, " holds no tokens"));
  set.size_ = bytes / width;
  set.file_ = std::make_shared<const FileReader>(std::move(file));
  return set;
}

absl::StatusOr<TokenSet> TokenSet::FromVector(std::vector<uint16_t> tokens) {
  if (tokens.empty()) return absl::InvalidArgumentError("a set of tokens needs at least one");
  TokenSet set;
  set.size_ = static_cast<int64_t>(tokens.size());
  set.words_ = std::make_shared<const std::vector<uint16_t>>(std::move(tokens));
  return set;
}

absl::Status TokenSet::CopyTo(int64_t begin, std::span<int32_t> out) const {
  const auto count = static_cast<int64_t>(out.size());
  if (begin < 0 || count > size_ || begin > size_ - count) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokens ", begin, " to ", begin + count, " are no part of ", size_, " tokens"));
  }
  if (words_ != nullptr) {
    std::copy_n(words_->begin() + first_ + begin, count, out.begin());
    return absl::OkStatus();
  }
  std::array<std::byte, 8192> piece;
  for (int64_t done = 0; done < count;) {
    const int64_t now = std::min(count - done, static_cast<int64_t>(piece.size()) / bytes_);
    SINTER_RETURN_IF_ERROR(file_->Read(static_cast<uint64_t>(first_ + (begin + done) * bytes_),
                                       std::span(piece).first(static_cast<size_t>(now * bytes_))));
    for (int64_t i = 0; i < now; ++i) {
      const std::byte* const token = piece.data() + bytes_ * i;
      int32_t& id = out[static_cast<size_t>(done + i)];
      if (bytes_ == 1) id = std::to_integer<int32_t>(*token);
      if (bytes_ == 2) id = LoadLittle<uint16_t>(token);
      if (bytes_ == 4) id = LoadLittle<int32_t>(token);
      if (id < 0) {
        return absl::DataLossError(absl::StrCat(file_->path(), ": token ", begin + done + i, " is ",
                                                LoadLittle<uint32_t>(token), "; ids are below 2^31"));
      }
    }
    done += now;
  }
  return absl::OkStatus();
}

absl::StatusOr<int32_t> TokenSet::Largest() const {
  std::vector<int32_t> piece(1 << 16);
  int32_t largest = 0;
  for (int64_t begin = 0; begin < size_; begin += static_cast<int64_t>(piece.size())) {
    piece.resize(static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(piece.size()), size_ - begin)));
    SINTER_RETURN_IF_ERROR(CopyTo(begin, piece));
    largest = std::max(largest, *std::ranges::max_element(piece));
  }
  return largest;
}

absl::StatusOr<TokenSet> TokenSet::Part(int64_t begin, int64_t end) const {
  if (begin < 0 || begin >= end || end > size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokens ", begin, " to ", end, " are no part of ", size_, " tokens"));
  }
  TokenSet part = *this;
  part.first_ += words_ != nullptr ? begin : begin * bytes_;
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

absl::Status TokenSet::CopyWindow(int64_t start, int64_t row, HostTensor& x, HostTensor& y) const {
  const int64_t time = x.shape()[1];
  int32_t* const inputs = static_cast<int32_t*>(x.mutable_data()) + row * time;
  int32_t* const targets = static_cast<int32_t*>(y.mutable_data()) + row * time;
  if (time == 0) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(CopyTo(start, {inputs, static_cast<size_t>(time)}));
  std::copy(inputs + 1, inputs + time, targets);
  return CopyTo(start + time, {targets + time - 1, 1});
}

absl::Status TokenSet::Draw(SplitMix& bits, HostTensor& x, HostTensor& y) const {
  SINTER_RETURN_IF_ERROR(CheckWindows(x, y));
  const uint64_t places = static_cast<uint64_t>(size_ - x.shape()[1]);
  for (int64_t row = 0; row < x.shape()[0]; ++row) {
    SINTER_RETURN_IF_ERROR(CopyWindow(static_cast<int64_t>(bits.Below(places)), row, x, y));
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
  for (int64_t row = 0; row < x.shape()[0]; ++row) {
    SINTER_RETURN_IF_ERROR(CopyWindow(first + row * time, row, x, y));
  }
  return absl::OkStatus();
}

}  // namespace sinter
