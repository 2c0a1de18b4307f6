// The CRC-32 of data whose parts different writers or readers have.
//
//   PartCrc crc;                                    // Of one part: bytes at rising offsets.
//   crc.Add(0, header);
//   crc.Add(4096, row);
//   JoinCrcs(crc.Finish(total) ^ other.Finish(total), total)      // zlib's crc32 of all bytes.
//
// Finish gives the part's term: the remainder of the data with all other bytes 0, without zlib's
// conditioning. A CRC is linear, so the terms of disjoint parts combine by exclusive or, in any order.
#ifndef SINTER_RUNTIME_FORMATS_PART_CRC_H_
#define SINTER_RUNTIME_FORMATS_PART_CRC_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter {

class PartCrc {
 public:
  // `offset` is not below the end of the bytes added before.
  void Add(uint64_t offset, std::span<const std::byte> bytes);
  // The term of the part in data of `total` bytes.
  uint32_t Finish(uint64_t total) const;

 private:
  uint32_t term_ = 0;
  uint64_t end_ = 0;
  uint64_t gap_ = 0;  // The last gap, and what it multiplies by.
  uint32_t factor_ = uint32_t{1} << 31;
};

// Returns the CRC-32 of `total` bytes from the exclusive or of the terms of all parts.
uint32_t JoinCrcs(uint32_t terms, uint64_t total);

}  // namespace sinter

#endif  // SINTER_RUNTIME_FORMATS_PART_CRC_H_
