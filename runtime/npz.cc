#include "sinter/runtime/npz.h"

#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/npy.h"
#include "sinter/runtime/status.h"
#include "sinter/runtime/tensor_bytes.h"
#include "sinter/runtime/zip_archive.h"

namespace sinter {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

absl::Status SaveNpz(const std::string& path, std::span<const NamedTensor> tensors,
                     const NpzOptions& options) {
  std::unordered_set<std::string> names;
  for (const NamedTensor& named : tensors) {
    if (named.name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("cannot write '", path, "': a tensor has no name"));
    }
    if (!names.insert(named.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot write '", path, "': two tensors are named '", named.name, "'"));
    }
  }
  SINTER_ASSIGN_OR_RETURN(ZipWriter zip, ZipWriter::Create(path));
  for (const NamedTensor& named : tensors) {
    const std::string preamble = NpyPreamble(named.tensor);
    const std::span<const std::byte> pieces[] = {AsBytes(preamble), BytesOf(named.tensor)};
    SINTER_RETURN_IF_ERROR(zip.Add(named.name + std::string(kSuffix), pieces, options.compress));
  }
  return zip.Commit();
}

absl::StatusOr<std::vector<NamedTensor>> ParseNpz(std::span<const std::byte> bytes, const std::string& name) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ReadZipDirectory(bytes, name));
  std::vector<NamedTensor> tensors;
  tensors.reserve(members.size());
  for (const ZipMember& member : members) {
    if (!member.name.ends_with(kSuffix)) {
      return absl::DataLossError(
          absl::StrCat(name, ": no .npz file: its member '", member.name, "' is no .npy file"));
    }
    ZipMemberReader reader(member, name);
    SINTER_ASSIGN_OR_RETURN(HostTensor tensor,
                            ReadNpy([&reader](std::span<std::byte> out) { return reader.Read(out); },
                                    member.size, absl::StrCat(name, "(", member.name, ")")));
    SINTER_RETURN_IF_ERROR(reader.Finish());
    tensors.push_back({member.name.substr(0, member.name.size() - kSuffix.size()), std::move(tensor)});
  }
  return tensors;
}

absl::StatusOr<std::vector<NamedTensor>> LoadNpz(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  return ParseNpz(file.bytes(), path);
}

}  // namespace sinter
