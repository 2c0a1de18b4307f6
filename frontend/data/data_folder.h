// Finds the folder of a data set that is on this machine, for Sinter's own sources.
#ifndef SINTER_FRONTEND_DATA_DATA_FOLDER_H_
#define SINTER_FRONTEND_DATA_DATA_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"

namespace sinter {

// Returns `folder` if it is not empty, else the first that exists of $SINTER_DATA/<name> and
// ../shared/data/<name>. NotFound if there is none; the message names those searched.
absl::StatusOr<std::string> FindDataFolder(const std::string& name, const std::string& folder);

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_DATA_FOLDER_H_
