#include "sinter/frontend/data/data_folder.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sinter {

absl::StatusOr<std::string> FindDataFolder(const std::string& name, const std::string& folder) {
  std::vector<std::string> candidates;
  if (!folder.empty()) {
    candidates = {folder};
  } else {
    if (const char* data = std::getenv("SINTER_DATA"); data != nullptr && *data != '\0') {
      candidates.push_back(absl::StrCat(data, "/", name));
    }
    candidates.push_back("../shared/data/" + name);
  }
  std::error_code ignored;
  for (const std::string& candidate : candidates) {
    if (std::filesystem::is_directory(candidate, ignored)) return candidate;
  }
  return absl::NotFoundError(
      absl::StrCat("no folder with the data set '", name, "': looked at ", absl::StrJoin(candidates, " and "),
                   "; name the folder, or set SINTER_DATA to the folder that holds ", name));
}

}  // namespace sinter
