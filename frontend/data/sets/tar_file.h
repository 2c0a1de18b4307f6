// Lists the files in a tar file (POSIX ustar and pax, GNU), for Sinter's own sources.
#ifndef SINTER_FRONTEND_DATA_SETS_TAR_FILE_H_
#define SINTER_FRONTEND_DATA_SETS_TAR_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/formats/file.h"

namespace sinter::data {

struct TarMember {
  std::string name;
  uint64_t offset = 0;  // Place of its bytes in the tar file.
  uint64_t size = 0;
};

// Returns the regular files, in order. Reads headers alone. DataLoss for another or a cut file.
absl::StatusOr<std::vector<TarMember>> ListTar(const FileReader& file);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_SETS_TAR_FILE_H_
