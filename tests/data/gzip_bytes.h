// Compresses bytes with gzip for tests.
#ifndef SINTER_TESTS_DATA_GZIP_BYTES_H_
#define SINTER_TESTS_DATA_GZIP_BYTES_H_

#include <string>

#include "zlib.h"

namespace sinter {

inline std::string Gzip(const std::string& bytes) {
  z_stream z = {};
  deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, bytes.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace sinter

#endif  // SINTER_TESTS_DATA_GZIP_BYTES_H_
