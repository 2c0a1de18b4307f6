#include "sinter/frontend/data/sets/tar_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

constexpr uint64_t kBlock = 512;
constexpr uint64_t kLongestName = 1 << 16;  // Bytes of a long name or a pax header.

using Header = std::array<char, kBlock>;

// Returns a field up to its first zero byte.
std::string_view TextAt(const Header& header, size_t at, size_t size) {
  const std::string_view field(header.data() + at, size);
  return field.substr(0, field.find('\0'));
}

// A number in octal digits, or in GNU's form for large ones: big-endian behind a first byte of 0x80.
std::optional<uint64_t> NumberAt(const Header& header, size_t at, size_t size) {
  uint64_t number = 0;
  if (static_cast<uint8_t>(header[at]) == 0x80) {
    for (size_t i = 1; i < size; ++i) {
      if (number >> 55 != 0) return std::nullopt;
      number = number << 8 | static_cast<uint8_t>(header[at + i]);
    }
    return number;
  }
  std::string_view digits = TextAt(header, at, size);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  if (digits.empty() || digits.size() > 20) return std::nullopt;
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') return std::nullopt;
    number = number << 3 | static_cast<uint64_t>(digit - '0');
  }
  return number;
}

// The sum of all bytes, with spaces in place of the sum itself.
bool HasChecksum(const Header& header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(header[i]);
  return NumberAt(header, 148, 8) == sum;
}

// Returns the path of a pax header's records, "<length> <key>=<value>\n"; nullopt if it has none.
std::optional<std::string> PaxPath(std::string_view records) {
  std::optional<std::string> path;
  while (!records.empty()) {
    const size_t space = records.find(' ');
    uint64_t length = 0;
    if (space == std::string_view::npos ||
        !absl::SimpleAtoi(std::string(records.substr(0, space)), &length) || length <= space + 1 ||
        length > records.size()) {
      return path;
    }
    const std::string_view record = records.substr(space + 1, length - space - 2);
    if (record.starts_with("path=")) path = std::string(record.substr(5));
    records.remove_prefix(length);
  }
  return path;
}

std::string NameOf(const Header& header) {
  const std::string_view prefix = TextAt(header, 257, 5) == "ustar" ? TextAt(header, 345, 155) : "";
  const std::string_view name = TextAt(header, 0, 100);
  return prefix.empty() ? std::string(name) : absl::StrCat(std::string(prefix), "/", std::string(name));
}

}  // namespace

absl::StatusOr<std::vector<TarMember>> ListTar(const FileReader& file) {
  const auto damaged = [&](uint64_t at, const char* what) {
    return absl::DataLossError(
        absl::StrCat(file.path(), ": byte ", at, ": ", what, "; tar files are read, not compressed ones"));
  };
  std::vector<TarMember> members;
  std::string long_name;  // For the next member.
  uint64_t at = 0;
  while (true) {
    Header header;
    if (file.size() < at + kBlock) return damaged(at, "the file is cut short: it has no end of an archive");
    SINTER_RETURN_IF_ERROR(file.Read(at, std::as_writable_bytes(std::span(header))));
    if (std::ranges::all_of(header, [](char c) { return c == 0; })) return members;
    if (!HasChecksum(header)) return damaged(at, "no header of a tar file: its checksum is wrong");
    const std::optional<uint64_t> size = NumberAt(header, 124, 12);
    at += kBlock;
    if (!size.has_value() || *size > file.size() - at) return damaged(at, "the file is cut short");
    const char type = header[156];
    if (type == 'L' || type == 'x') {
      if (*size > kLongestName) return damaged(at, "a name is too long");
      std::string text(*size, '\0');
      SINTER_RETURN_IF_ERROR(file.Read(at, std::as_writable_bytes(std::span(text))));
      if (type == 'L') long_name = text.substr(0, text.find('\0'));
      if (type == 'x') long_name = PaxPath(text).value_or(long_name);
    } else {
      const bool is_file = type == '0' || type == '\0';
      if (is_file) members.push_back({long_name.empty() ? NameOf(header) : long_name, at, *size});
      if (type != 'g') long_name.clear();
    }
    at += (*size + kBlock - 1) / kBlock * kBlock;
  }
}

}  // namespace sinter::data
