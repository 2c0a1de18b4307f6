#include "sinter/runtime/formats/part_crc.h"

#include "zlib.h"

namespace sinter {
namespace {

constexpr uint32_t kCrcPolynomial = 0xedb88320;  // CRC-32, bit-reflected: bit 31 is the coefficient of x^0.
constexpr uint32_t kCrcOne = uint32_t{1} << 31;

// The product of two polynomials modulo the CRC's.
uint32_t MultiplyCrcs(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kCrcOne; bit != 0 && a != 0; bit >>= 1) {
    if ((a & bit) != 0) {
      product ^= b;
      a ^= bit;
    }
    b = (b & 1) != 0 ? (b >> 1) ^ kCrcPolynomial : b >> 1;
  }
  return product;
}

// x^(8 bytes): what zero bytes behind the data multiply its remainder by.
uint32_t CrcFactorOf(uint64_t bytes) {
  uint32_t factor = kCrcOne, power = kCrcOne >> 8;
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1) != 0) factor = MultiplyCrcs(power, factor);
    power = MultiplyCrcs(power, power);
  }
  return factor;
}

}  // namespace

void PartCrc::Add(uint64_t offset, std::span<const std::byte> bytes) {
  if (const uint64_t gap = offset - end_; gap != gap_) {
    gap_ = gap;
    factor_ = CrcFactorOf(gap);
  }
  term_ = MultiplyCrcs(factor_, term_);
  // zlib inverts the remainder before and after.
  term_ = ~static_cast<uint32_t>(
      crc32_z(static_cast<uint32_t>(~term_), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  end_ = offset + bytes.size();
}

uint32_t PartCrc::Finish(uint64_t total) const { return MultiplyCrcs(CrcFactorOf(total - end_), term_); }

uint32_t JoinCrcs(uint32_t terms, uint64_t total) {
  return ~(MultiplyCrcs(CrcFactorOf(total), ~uint32_t{0}) ^ terms);
}

}  // namespace sinter
