// Inflates compressed bytes piece by piece: gzip files and the members of zip archives.
//
//   Inflater gz(Inflater::Format::kGzip, file.bytes(), "t10k-labels.gz");
//   SINTER_RETURN_IF_ERROR(gz.Read(header));      // Fills the whole span, or returns an error.
//   SINTER_RETURN_IF_ERROR(gz.Finish());          // Checks the end of the data, and gzip's checksum.
//
// The caller decides how much to read, so a small file cannot make the program use more memory. A header that
// claims more than MaxInflatedSize is certainly wrong.
#ifndef SINTER_RUNTIME_FORMATS_INFLATE_H_
#define SINTER_RUNTIME_FORMATS_INFLATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace sinter {

// True if `bytes` begin like a gzip file.
bool IsGzip(std::span<const std::byte> bytes);

// Upper bound of the inflated size of a deflate stream of `compressed` bytes (a match of 258 bytes takes at
// least two bits).
constexpr uint64_t MaxInflatedSize(uint64_t compressed) {
  return compressed > UINT64_MAX / 1040 ? UINT64_MAX : compressed * 1040;
}

class Inflater {
 public:
  enum class Format { kGzip, kRawDeflate };

  // `compressed` must outlive the inflater. Errors use `name`. Several members of a gzip file are read as one
  // stream.
  Inflater(Format format, std::span<const std::byte> compressed, std::string name);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out`. DataLoss if the stream is damaged or ends early; the message gives the number of inflated
  // bytes.
  absl::Status Read(std::span<std::byte> out);

  // DataLoss unless the stream ends here, all of `compressed` is used, and the checksum is right.
  absl::Status Finish();

 private:
  struct Stream;

  // Inflates at most out.size() bytes into `out`. Gives fewer only at the end of the stream.
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
