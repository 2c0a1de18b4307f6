#include "sinter/runtime/formats/inflate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "zlib.h"

namespace sinter {

struct Inflater::Stream {
  z_stream z = {};
  int ready = Z_OK;
};

bool IsGzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Inflater::Inflater(Format format, std::span<const std::byte> compressed, std::string name)
    : format_(format), rest_(compressed), name_(std::move(name)), stream_(std::make_unique<Stream>()) {
  stream_->ready = inflateInit2(&stream_->z, format == Format::kGzip ? 16 + MAX_WBITS : -MAX_WBITS);
}

Inflater::~Inflater() {
  if (stream_->ready == Z_OK) inflateEnd(&stream_->z);
}

absl::Status Inflater::Damaged(const std::string& what) const {
  return absl::DataLossError(
      absl::StrCat(name_, ": compressed data ", what, " (after ", produced_, " inflated bytes)"));
}

absl::Status Inflater::NextMember() {
  ended_ = rest_.empty() || format_ == Format::kRawDeflate;
  if (ended_) return absl::OkStatus();
  if (!IsGzip(rest_))
    return Damaged(absl::StrCat("is followed by ", rest_.size(), " bytes that are not gzip"));
  inflateReset(&stream_->z);
  return absl::OkStatus();
}

absl::Status Inflater::ReadSome(std::span<std::byte> out, size_t* got) {
  *got = 0;
  if (stream_->ready != Z_OK) return absl::ResourceExhaustedError(absl::StrCat(name_, ": zlib cannot start"));
  constexpr size_t kMaxChunk = size_t{1} << 30;  // zlib counts in 32 bits.
  z_stream& z = stream_->z;
  while (*got < out.size() && !ended_) {
    const size_t in_chunk = std::min(rest_.size(), kMaxChunk);
    const size_t out_chunk = std::min(out.size() - *got, kMaxChunk);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    z.avail_in = static_cast<uInt>(in_chunk);
    z.next_out = reinterpret_cast<Bytef*>(out.data() + *got);
    z.avail_out = static_cast<uInt>(out_chunk);
    const int result = inflate(&z, Z_NO_FLUSH);
    rest_ = rest_.subspan(in_chunk - z.avail_in);
    *got += out_chunk - z.avail_out;
    produced_ += out_chunk - z.avail_out;
    if (result == Z_STREAM_END) {
      SINTER_RETURN_IF_ERROR(NextMember());
    } else if (result == Z_MEM_ERROR) {
      return absl::ResourceExhaustedError(absl::StrCat(name_, ": zlib is out of memory"));
    } else if (result == Z_BUF_ERROR) {
      return Damaged("ends early");
    } else if (result != Z_OK) {
      return Damaged(absl::StrCat("is damaged: ", z.msg != nullptr ? z.msg : "unknown error"));
    }
  }
  return absl::OkStatus();
}

absl::Status Inflater::Read(std::span<std::byte> out) {
  size_t got = 0;
  SINTER_RETURN_IF_ERROR(ReadSome(out, &got));
  if (got == out.size()) return absl::OkStatus();
  return Damaged(absl::StrCat("ends ", out.size() - got, " bytes early"));
}

absl::Status Inflater::Finish() {
  std::byte extra;
  size_t got = 0;
  SINTER_RETURN_IF_ERROR(ReadSome({&extra, 1}, &got));
  if (got != 0) {
    --produced_;
    return Damaged("goes on where it should end");
  }
  if (!rest_.empty()) return Damaged(absl::StrCat("is followed by ", rest_.size(), " bytes"));
  return absl::OkStatus();
}

}  // namespace sinter
