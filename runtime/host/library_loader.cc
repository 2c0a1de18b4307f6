#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/environment.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sinter {
namespace {

// Folders of the packages that Sinter was built with (cmake/SinterCuda.cmake); empty with an installed
// toolkit.
#ifdef SINTER_CUDA_LIBRARY_FOLDERS
constexpr char kBuildFolders[] = SINTER_CUDA_LIBRARY_FOLDERS;
#else
constexpr char kBuildFolders[] = "";
#endif

std::string PathOf(void* handle, const std::string& asked) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name[0] == '\0') return asked;
  return map->l_name;
}

struct UsedTable {
  std::mutex mutex;
  std::vector<UsedLibrary> libraries;
};

UsedTable& TheUsed() {
  static UsedTable& table = *new UsedTable;
  return table;
}

}  // namespace

std::vector<std::string> LibraryCandidates(std::string_view file) {
  std::vector<std::string> candidates;
  const std::string name(file);
  for (const auto& folder : absl::StrSplit(Environment("SINTER_CUDA_LIBRARY_PATH"), ':', absl::SkipEmpty())) {
    candidates.push_back(absl::StrCat(folder, "/", name));
  }
  candidates.push_back(name);
  if (const std::string toolkit = Environment("CUDA_PATH"); !toolkit.empty()) {
    candidates.push_back(absl::StrCat(toolkit, "/lib64/", name));
  }
  candidates.push_back(absl::StrCat("/usr/local/cuda/lib64/", name));
  for (const auto& folder : absl::StrSplit(kBuildFolders, ':', absl::SkipEmpty())) {
    candidates.push_back(absl::StrCat(folder, "/", name));
  }
  return candidates;
}

absl::StatusOr<OpenedLibrary> OpenLibrary(const LibraryName& name) {
  std::vector<std::string> tried;
  std::vector<std::string> candidates = LibraryCandidates(name.file);
  if (!name.older.empty()) {
    const std::vector<std::string> older = LibraryCandidates(name.older);
    for (size_t i = older.size(); i-- > 0;) candidates.insert(candidates.begin() + i + 1, older[i]);
  }
  for (const std::string& candidate : candidates) {
    // RTLD_LOCAL: a program that links another version of the library keeps using that version.
    void* const handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return OpenedLibrary(name, handle, PathOf(handle, candidate));
    const char* const error = dlerror();
    tried.push_back(error == nullptr ? candidate : error);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(name.title), " is needed and was not found: looked for ", std::string(name.file), " (",
      absl::StrJoin(tried, "; "), "). Install the CUDA toolkit 13 or the package ", std::string(name.package),
      " of PyPI, and put the folder of the file into SINTER_CUDA_LIBRARY_PATH"));
}

absl::Status OpenedLibrary::Find(std::initializer_list<LibraryFunction> functions) const {
  for (const LibraryFunction& function : functions) {
    void* const address = dlsym(handle_, function.name);
    if (address == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(std::string(name_.title), " in ", path_, " has no function ", function.name,
                       ": it is of another version than ", std::string(name_.file)));
    }
    // POSIX guarantees that function pointers and data pointers have the same size.
    std::memcpy(function.slot, &address, sizeof(address));
  }
  return absl::OkStatus();
}

absl::Status OpenedLibrary::CheckVersion(const LibraryVersion& version) const {
  if (version.fits) {
    UsedTable& used = TheUsed();
    const std::lock_guard lock(used.mutex);
    if (std::ranges::find(used.libraries, path_, &UsedLibrary::path) == used.libraries.end()) {
      used.libraries.push_back({std::string(name_.title), version.found, path_});
    }
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(name_.title), " ", version.wanted, " is needed, and ", path_, " is ", version.found,
      ": install another one and put its folder into SINTER_CUDA_LIBRARY_PATH, which is looked at first"));
}

std::vector<UsedLibrary> UsedLibraries() {
  UsedTable& used = TheUsed();
  const std::lock_guard lock(used.mutex);
  return used.libraries;
}

}  // namespace sinter
