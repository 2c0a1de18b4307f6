#include "sinter/runtime/formats/zip_archive.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"
#include "zlib.h"

namespace sinter {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50;
constexpr uint32_t kCentralMagic = 0x02014b50;
constexpr uint32_t kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50;
constexpr uint32_t kLocator64Magic = 0x07064b50;
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kLocator64Bytes = 20;
constexpr uint16_t kZip64Extra = 1;
constexpr uint32_t kMax32 = 0xffffffff;
constexpr uint16_t kDate1980 = 0x0021;  // January 1st, 1980: zip has no value for "no date".

uint16_t Load16(const std::byte* p) { return LoadLittle<uint16_t>(p); }
uint32_t Load32(const std::byte* p) { return LoadLittle<uint32_t>(p); }
uint64_t Load64(const std::byte* p) { return LoadLittle<uint64_t>(p); }

uint32_t Crc(uint32_t crc, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

struct Directory {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t members = 0;
};

// A member and its range in the archive, including the local header.
struct Placed {
  ZipMember member;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t packed_bytes = 0;
};

class DirectoryReader {
 public:
  DirectoryReader(std::span<const std::byte> archive, const std::string& name)
      : archive_(archive), name_(name) {}

  absl::StatusOr<std::vector<ZipMember>> Read();

 private:
  template <typename... Parts>
  absl::Status Damaged(const Parts&... parts) const {
    return absl::DataLossError(absl::StrCat(name_, ": damaged zip archive: ", parts...));
  }
  absl::StatusOr<Directory> FindDirectory() const;
  absl::StatusOr<Directory> FindDirectory64(size_t end) const;
  absl::StatusOr<Placed> ReadEntry(uint64_t* at, uint64_t limit) const;
  absl::Status ReadZip64(std::span<const std::byte> extra, Placed* placed) const;
  absl::Status Locate(Placed* placed, uint64_t limit) const;

  std::span<const std::byte> archive_;
  const std::string& name_;
};

absl::StatusOr<Directory> DirectoryReader::FindDirectory() const {
  if (archive_.size() < kEndBytes) {
    return Damaged("it has ", archive_.size(), " bytes, too few for even an empty one");
  }
  // The end record is last, except for a comment of at most 64 KiB.
  const size_t last = archive_.size() - kEndBytes;
  const size_t first = last > 0xffff ? last - 0xffff : 0;
  for (size_t at = last + 1; at-- > first;) {
    const std::byte* p = archive_.data() + at;
    if (Load32(p) != kEndMagic || at + kEndBytes + Load16(p + 20) != archive_.size()) continue;
    if (Load16(p + 4) == 0xffff || Load16(p + 10) == 0xffff || Load32(p + 12) == kMax32 ||
        Load32(p + 16) == kMax32) {
      return FindDirectory64(at);
    }
    if (Load16(p + 4) != 0 || Load16(p + 6) != 0 || Load16(p + 8) != Load16(p + 10)) {
      return Damaged("it is split into several parts, which is not supported");
    }
    const Directory found = {.offset = Load32(p + 16), .bytes = Load32(p + 12), .members = Load16(p + 10)};
    if (found.offset > at || found.bytes > at - found.offset)
      return Damaged("its directory lies outside the file");
    return found;
  }
  return Damaged("no end record; the file is cut short or is no zip archive");
}

absl::StatusOr<Directory> DirectoryReader::FindDirectory64(size_t end) const {
  if (end < kLocator64Bytes + kEnd64Bytes) return Damaged("no room for the zip64 end record");
  const std::byte* locator = archive_.data() + end - kLocator64Bytes;
  if (Load32(locator) != kLocator64Magic) return Damaged("the zip64 locator is missing");
  const uint64_t at = Load64(locator + 8);
  if (at > end - kLocator64Bytes - kEnd64Bytes) return Damaged("the zip64 end record lies outside the file");
  const std::byte* p = archive_.data() + at;
  if (Load32(p) != kEnd64Magic) return Damaged("the zip64 end record is missing");
  const Directory found = {.offset = Load64(p + 48), .bytes = Load64(p + 40), .members = Load64(p + 32)};
  if (found.offset > at || found.bytes > at - found.offset)
    return Damaged("its directory lies outside the file");
  return found;
}

absl::Status DirectoryReader::ReadZip64(std::span<const std::byte> extra, Placed* placed) const {
  const std::string& name = placed->member.name;
  while (extra.size() >= 4) {
    const uint16_t id = Load16(extra.data());
    const uint16_t length = Load16(extra.data() + 2);
    if (length > extra.size() - 4)
      return Damaged("the extra field of '", PrintableText(name), "' is cut short");
    std::span<const std::byte> body = extra.subspan(4, length);
    extra = extra.subspan(4 + length);
    if (id != kZip64Extra) continue;
    // Only fields that exceed 32 bits are present, in this order.
    for (uint64_t* field : {&placed->member.size, &placed->packed_bytes, &placed->begin}) {
      if (*field != kMax32) continue;
      if (body.size() < 8) return Damaged("the zip64 sizes of '", PrintableText(name), "' are cut short");
      *field = Load64(body.data());
      body = body.subspan(8);
    }
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

// Finds the member's bytes after its local header. The lengths of the name and extra field there may differ
// from those in the directory.
absl::Status DirectoryReader::Locate(Placed* placed, uint64_t limit) const {
  ZipMember& member = placed->member;
  const uint64_t packed_bytes = placed->packed_bytes;
  if (placed->begin > limit || limit - placed->begin < kLocalBytes) {
    return Damaged("'", PrintableText(member.name), "' begins at ", placed->begin, ", outside the file");
  }
  const std::byte* p = archive_.data() + placed->begin;
  if (Load32(p) != kLocalMagic)
    return Damaged("'", PrintableText(member.name), "' has no local header at ", placed->begin);
  const uint64_t data = placed->begin + kLocalBytes + Load16(p + 26) + Load16(p + 28);
  if (data > limit || packed_bytes > limit - data) {
    return Damaged("'", PrintableText(member.name), "' (", packed_bytes, " bytes at ", data,
                   ") reaches past the end of the data");
  }
  const bool name_matches =
      Load16(p + 26) == member.name.size() &&
      std::equal(member.name.begin(), member.name.end(), reinterpret_cast<const char*>(p + kLocalBytes));
  if (!name_matches)
    return Damaged("'", PrintableText(member.name), "' has another name in its local header");
  member.packed = archive_.subspan(data, packed_bytes);
  placed->end = data + packed_bytes;
  if (!member.deflated && member.size != packed_bytes) {
    return Damaged("'", PrintableText(member.name), "' is stored, but its two sizes differ: ", member.size,
                   " and ", packed_bytes);
  }
  if (member.deflated && member.size > MaxInflatedSize(packed_bytes)) {
    return Damaged("'", PrintableText(member.name), "' claims ", member.size, " bytes, more than its ",
                   packed_bytes, " compressed bytes can hold");
  }
  return absl::OkStatus();
}

absl::StatusOr<Placed> DirectoryReader::ReadEntry(uint64_t* at, uint64_t limit) const {
  if (limit - *at < kCentralBytes) return Damaged("its directory is cut short at ", *at);
  const std::byte* p = archive_.data() + *at;
  if (Load32(p) != kCentralMagic) return Damaged("no directory entry at ", *at);
  const uint64_t name_bytes = Load16(p + 28);
  const uint64_t extra_bytes = Load16(p + 30);
  const uint64_t entry_bytes = kCentralBytes + name_bytes + extra_bytes + Load16(p + 32);
  if (limit - *at < entry_bytes) return Damaged("its directory is cut short at ", *at);
  Placed placed;
  ZipMember& member = placed.member;
  member.name.assign(reinterpret_cast<const char*>(p + kCentralBytes), name_bytes);
  const uint16_t flags = Load16(p + 8);
  const uint16_t method = Load16(p + 10);
  if ((flags & 1) != 0) {
    return absl::UnimplementedError(
        absl::StrCat(name_, ": '", PrintableText(member.name), "' is encrypted, which is not supported"));
  }
  if (method != 0 && method != 8) {
    return absl::UnimplementedError(absl::StrCat(name_, ": '", PrintableText(member.name),
                                                 "' uses compression method ", method,
                                                 "; only stored (0) and deflated (8) are supported"));
  }
  member.deflated = method == 8;
  member.crc = Load32(p + 16);
  member.size = Load32(p + 24);
  placed.begin = Load32(p + 42);
  placed.packed_bytes = Load32(p + 20);
  SINTER_RETURN_IF_ERROR(ReadZip64(archive_.subspan(*at + kCentralBytes + name_bytes, extra_bytes), &placed));
  *at += entry_bytes;
  return placed;
}

absl::StatusOr<std::vector<ZipMember>> DirectoryReader::Read() {
  SINTER_ASSIGN_OR_RETURN(const Directory directory, FindDirectory());
  // Check before reserving: a member takes at least its fixed part.
  if (directory.members > directory.bytes / kCentralBytes) {
    return Damaged("its directory of ", directory.bytes, " bytes cannot hold ", directory.members,
                   " members");
  }
  std::vector<Placed> entries;
  entries.reserve(directory.members);
  std::unordered_set<std::string> names;
  uint64_t at = directory.offset;
  const uint64_t end = directory.offset + directory.bytes;
  for (uint64_t i = 0; i < directory.members; ++i) {
    SINTER_ASSIGN_OR_RETURN(Placed placed, ReadEntry(&at, end));
    SINTER_RETURN_IF_ERROR(Locate(&placed, directory.offset));
    if (!names.insert(placed.member.name).second)
      return Damaged("two members are named '", PrintableText(placed.member.name), "'");
    entries.push_back(std::move(placed));
  }
  if (at != end) return Damaged("its directory has ", end - at, " bytes too many");
  std::vector<ZipMember> members;
  members.reserve(entries.size());
  for (const Placed& placed : entries) members.push_back(placed.member);
  // Members that share bytes are how a small archive can inflate to a huge size.
  std::ranges::sort(entries, {}, &Placed::begin);
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].begin < entries[i - 1].end) {
      return Damaged("'", PrintableText(entries[i - 1].member.name), "' and '",
                     PrintableText(entries[i].member.name), "' overlap");
    }
  }
  return members;
}

absl::StatusOr<std::string> Deflate(std::span<const std::span<const std::byte>> pieces) {
  z_stream z = {};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("zlib cannot start");
  }
  std::string out;
  std::vector<char> buffer(1 << 16);
  const auto drain = [&](int flush) {
    do {
      z.next_out = reinterpret_cast<Bytef*>(buffer.data());
      z.avail_out = static_cast<uInt>(buffer.size());
      deflate(&z, flush);
      out.append(buffer.data(), buffer.size() - z.avail_out);
    } while (z.avail_out == 0);
  };
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      const size_t chunk = std::min<size_t>(piece.size(), size_t{1} << 30);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
      z.avail_in = static_cast<uInt>(chunk);
      drain(Z_NO_FLUSH);
      piece = piece.subspan(chunk);
    }
  }
  drain(Z_FINISH);
  deflateEnd(&z);
  return out;
}

// Returns the fields common to the local header and the directory entry, from "version needed" to the name's
// length.
std::string SharedFields(const ZipMember& member, uint64_t packed_bytes, bool zip64) {
  std::string out;
  AppendLittle<uint16_t>(zip64 ? 45 : 20, &out);
  AppendLittle<uint16_t>(0x800, &out);  // The name is UTF-8.
  AppendLittle<uint16_t>(member.deflated ? 8 : 0, &out);
  AppendLittle<uint16_t>(0, &out);
  AppendLittle<uint16_t>(kDate1980, &out);
  AppendLittle<uint32_t>(member.crc, &out);
  AppendLittle<uint32_t>(zip64 ? kMax32 : static_cast<uint32_t>(packed_bytes), &out);
  AppendLittle<uint32_t>(zip64 ? kMax32 : static_cast<uint32_t>(member.size), &out);
  AppendLittle<uint16_t>(static_cast<uint16_t>(member.name.size()), &out);
  return out;
}

std::string Zip64Extra(std::span<const uint64_t> fields) {
  std::string out;
  if (fields.empty()) return out;
  AppendLittle<uint16_t>(kZip64Extra, &out);
  AppendLittle<uint16_t>(static_cast<uint16_t>(8 * fields.size()), &out);
  for (const uint64_t field : fields) AppendLittle<uint64_t>(field, &out);
  return out;
}

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(std::span<const std::byte> archive,
                                                        const std::string& name) {
  return DirectoryReader(archive, name).Read();
}

ZipMemberReader::ZipMemberReader(const ZipMember& member, const std::string& archive_name)
    : name_(absl::StrCat(archive_name, "(", PrintableText(member.name), ")")),
      left_(member.size),
      expected_crc_(member.crc) {
  if (member.deflated) {
    inflater_.emplace(Inflater::Format::kRawDeflate, member.packed, name_);
  } else {
    stored_ = member.packed;
  }
}

absl::Status ZipMemberReader::Read(std::span<std::byte> out) {
  if (out.size() > left_) {
    return absl::DataLossError(absl::StrCat(name_, ": ends ", out.size() - left_, " bytes early"));
  }
  if (inflater_.has_value()) {
    SINTER_RETURN_IF_ERROR(inflater_->Read(out));
  } else {
    std::copy_n(stored_.begin(), out.size(), out.begin());
    stored_ = stored_.subspan(out.size());
  }
  left_ -= out.size();
  crc_ = Crc(crc_, out);
  return absl::OkStatus();
}

absl::Status ZipMemberReader::Finish() {
  if (left_ != 0)
    return absl::DataLossError(absl::StrCat(name_, ": ", left_, " bytes follow where it should end"));
  if (inflater_.has_value()) {
    SINTER_RETURN_IF_ERROR(inflater_->Finish());
  }
  if (crc_ == expected_crc_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(name_, ": damaged: its CRC-32 is ",
                                          absl::Hex(crc_, absl::kZeroPad8), ", the archive says ",
                                          absl::Hex(expected_crc_, absl::kZeroPad8)));
}

absl::StatusOr<ZipWriter> ZipWriter::Create(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  return ZipWriter(std::move(file));
}

absl::Status ZipWriter::Add(const std::string& name, std::span<const std::span<const std::byte>> pieces,
                            bool compress) {
  if (name.size() > 0xffff) {
    return absl::InvalidArgumentError(
        absl::StrCat("a zip member's name has at most 65535 bytes, this one has ", name.size()));
  }
  ZipMember member;
  member.name = name;
  for (const std::span<const std::byte> piece : pieces) {
    member.size += piece.size();
    member.crc = Crc(member.crc, piece);
  }
  std::string packed;
  if (compress) {
    SINTER_ASSIGN_OR_RETURN(packed, Deflate(pieces));
    member.deflated = packed.size() < member.size;
  }
  const uint64_t packed_bytes = member.deflated ? packed.size() : member.size;
  const uint64_t begin = file_.size();
  const bool large = member.size >= kMax32 || packed_bytes >= kMax32;
  const bool far = begin >= kMax32;

  std::vector<uint64_t> extra;
  if (large) extra = {member.size, packed_bytes};
  std::string local_extra = Zip64Extra(extra);
  std::string header;
  AppendLittle(kLocalMagic, &header);
  header += SharedFields(member, packed_bytes, large);
  AppendLittle(static_cast<uint16_t>(local_extra.size()), &header);
  SINTER_RETURN_IF_ERROR(file_.Write(header + name + local_extra));
  if (member.deflated) {
    SINTER_RETURN_IF_ERROR(file_.Write(packed));
  } else {
    for (const std::span<const std::byte> piece : pieces) SINTER_RETURN_IF_ERROR(file_.Write(piece));
  }

  if (far) extra.push_back(begin);
  const std::string central_extra = Zip64Extra(extra);
  AppendLittle(kCentralMagic, &directory_);
  AppendLittle<uint16_t>(45, &directory_);
  directory_ += SharedFields(member, packed_bytes, large);
  AppendLittle(static_cast<uint16_t>(central_extra.size()), &directory_);
  directory_.append(10, '\0');  // No comment, part 0, no attributes.
  AppendLittle(far ? kMax32 : static_cast<uint32_t>(begin), &directory_);
  directory_ += name + central_extra;
  ++num_members_;
  return absl::OkStatus();
}

absl::Status ZipWriter::Commit() {
  const uint64_t begin = file_.size();
  SINTER_RETURN_IF_ERROR(file_.Write(directory_));
  const uint64_t end = file_.size();
  const bool zip64 = begin >= kMax32 || directory_.size() >= kMax32 || num_members_ >= 0xffff;
  std::string tail;
  if (zip64) {
    AppendLittle(kEnd64Magic, &tail);
    AppendLittle<uint64_t>(kEnd64Bytes - 12, &tail);
    AppendLittle<uint16_t>(45, &tail);
    AppendLittle<uint16_t>(45, &tail);
    tail.append(8, '\0');  // This part and the directory's part: 0.
    for (const uint64_t field : {num_members_, num_members_, uint64_t{directory_.size()}, begin}) {
      AppendLittle(field, &tail);
    }
    AppendLittle(kLocator64Magic, &tail);
    AppendLittle<uint32_t>(0, &tail);
    AppendLittle<uint64_t>(end, &tail);
    AppendLittle<uint32_t>(1, &tail);
  }
  AppendLittle(kEndMagic, &tail);
  AppendLittle<uint32_t>(0, &tail);
  const uint16_t members16 = zip64 ? 0xffff : static_cast<uint16_t>(num_members_);
  AppendLittle(members16, &tail);
  AppendLittle(members16, &tail);
  AppendLittle(zip64 ? kMax32 : static_cast<uint32_t>(directory_.size()), &tail);
  AppendLittle(zip64 ? kMax32 : static_cast<uint32_t>(begin), &tail);
  AppendLittle<uint16_t>(0, &tail);
  SINTER_RETURN_IF_ERROR(file_.Write(tail));
  return file_.Commit();
}

}  // namespace sinter
