// Inflating compressed bytes piece by piece: gzip files and the members of zip archives.
//
//   Inflater gz(Inflater::Format::kGzip, file.bytes(), "t10k-labels.gz");
//   SINTER_RETURN_IF_ERROR(gz.Read(header));      // Fills the span completely, or says why it cannot.
//   SINTER_RETURN_IF_ERROR(gz.Finish());          // Nothing may follow; the checksum of a gzip file holds.
//
// The caller decides how much to read, so a small file never makes more memory be used than the caller gives;
// MaxInflatedSize tells how much a header may claim before it is certainly lying.
#ifndef SINTER_RUNTIME_FORMATS_INFLATE_H_
#define SINTER_RUNTIME_FORMATS_INFLATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace sinter {

// True for bytes that begin as a gzip file does.
bool IsGzip(std::span<const std::byte> bytes);

// No deflate stream of `compressed` bytes inflates to more than this (a match of 258 bytes costs two bits or
// more).
constexpr uint64_t MaxInflatedSize(uint64_t compressed) {
  return compressed > UINT64_MAX / 1040 ? UINT64_MAX : compressed * 1040;
}

class Inflater {
 public:
  enum class Format { kGzip, kRawDeflate };

  // `compressed` must outlive the inflater; `name` is what errors call it. Gzip files of several members read
  // as one.
  Inflater(Format format, std::span<const std::byte> compressed, std::string name);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out`. DataLoss: the stream is damaged or ends early; the message says after how many bytes.
  absl::Status Read(std::span<std::byte> out);

  // DataLoss unless the stream ends here, with all of `compressed` used and the checksum right.
  absl::Status Finish();

 private:
  struct Stream;

  // Inflates up to out.size() bytes into `out`; fewer only at the end of the stream.
  absl::Status ReadSome(std::span<std::byte> out, size_t* got);
  absl::Status NextMember();
  absl::Status Damaged(const std::string& what) const;

  Format format_;
  std::span<const std::byte> rest_;
  std::string name_;
  std::unique_ptr<Stream> stream_;
  uint64_t produced_ = 0;
  bool ended_ = false;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_INFLATE_H_
