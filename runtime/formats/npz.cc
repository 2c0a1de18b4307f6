#include "sinter/runtime/formats/npz.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/npy.h"
#include "sinter/runtime/formats/zip_archive.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/tensor/tensor_bytes.h"

namespace sinter {
namespace {

constexpr std::string_view kSuffix = ".npy";

// Runs before anything is inflated.
absl::Status CheckLimits(const std::vector<ZipMember>& members, const std::string& name,
                         const NpzLimits& limits) {
  const auto max_bytes = static_cast<uint64_t>(std::max<int64_t>(limits.max_bytes, 0));
  const auto max_ratio = static_cast<uint64_t>(std::max<int64_t>(limits.max_ratio, 0));
  uint64_t left = max_bytes;
  for (const ZipMember& member : members) {
    if (member.size > left) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name, ": its members up to '", PrintableText(member.name), "' inflate to more than ",
                       max_bytes, " bytes; if that is right, raise NpzLimits::max_bytes"));
    }
    left -= member.size;
    // If packed bytes times the ratio overflows, no member can exceed it.
    if (!member.deflated || member.packed.size() > UINT64_MAX / std::max<uint64_t>(max_ratio, 1)) continue;
    if (member.size <= member.packed.size() * max_ratio) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": '", PrintableText(member.name), "' inflates from ", member.packed.size(),
                     " to ", member.size, " bytes, more than ", max_ratio,
                     " times as many; if that is right, raise NpzLimits::max_ratio"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedTensor>> ParseArchive(std::span<const std::byte> bytes,
                                                      const std::string& name, const NpzLimits& limits) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ReadZipDirectory(bytes, name));
  SINTER_RETURN_IF_ERROR(CheckLimits(members, name, limits));
  std::vector<NamedTensor> tensors;
  tensors.reserve(members.size());
  for (const ZipMember& member : members) {
    if (!member.name.ends_with(kSuffix)) {
      return absl::DataLossError(absl::StrCat(name, ": no .npz file: its member '",
                                              PrintableText(member.name), "' is no .npy file"));
    }
    ZipMemberReader reader(member, name);
    SINTER_ASSIGN_OR_RETURN(HostTensor tensor,
                            ReadNpy([&reader](std::span<std::byte> out) { return reader.Read(out); },
                                    member.size, absl::StrCat(name, "(", PrintableText(member.name), ")")));
    SINTER_RETURN_IF_ERROR(reader.Finish());
    tensors.push_back({member.name.substr(0, member.name.size() - kSuffix.size()), std::move(tensor)});
  }
  return tensors;
}

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
          absl::StrCat("cannot write '", path, "': two tensors are named '", PrintableText(named.name), "'"));
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

absl::StatusOr<std::vector<NamedTensor>> ParseNpz(std::span<const std::byte> bytes, const std::string& name,
                                                  const NpzLimits& limits) {
  return WithinMemory(name, [&] { return ParseArchive(bytes, name, limits); });
}

absl::StatusOr<std::vector<NamedTensor>> LoadNpz(const std::string& path, const NpzLimits& limits) {
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
  return ParseNpz(file.bytes(), path, limits);
}

}  // namespace sinter
