#include "sinter/frontend/train/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/train/log_report.h"
#include "sinter/frontend/train/trainer.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

// The mask of record files, which keeps a CRC of data that has CRCs from being trivial.
uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

// Returns the bytes of a number, the lowest first.
template <typename T>
std::string LittleEndian(T number) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &number, sizeof(T));
  return bytes;
}

std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7) bytes += static_cast<char>((number & 127) | 128);
  return bytes + static_cast<char>(number);
}

// Fields of a protocol buffer: the number and type of the field, then its value.
enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
std::string Tag(uint64_t field, WireType type) { return Varint(field << 3 | type); }
std::string DoubleField(uint64_t field, double value) { return Tag(field, kFixed64) + LittleEndian(value); }
std::string FloatField(uint64_t field, float value) { return Tag(field, kFixed32) + LittleEndian(value); }
std::string VarintField(uint64_t field, uint64_t value) { return Tag(field, kVarint) + Varint(value); }
std::string BytesField(uint64_t field, std::string_view bytes) {
  return Tag(field, kBytes) + Varint(bytes.size()) + std::string(bytes);
}

absl::Status FileError(const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeCrcTable();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 255];
  return ~crc;
}

absl::StatusOr<EventFile> EventFile::Create(const std::string& folder) {
  char host[256] = "host";
  gethostname(host, sizeof(host) - 1);
  const double now = Now();
  const std::string path =
      absl::StrCat(folder, "/events.out.tfevents.", static_cast<int64_t>(now), ".", host, ".", getpid());
  std::FILE* const file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) return FileError(path);
  EventFile events(path, file);
  // Event: 1 wall_time, 2 step, 3 file_version, 5 summary.
  SINTER_RETURN_IF_ERROR(events.WriteRecord(DoubleField(1, now) + BytesField(3, "brain.Event:2")));
  return events;
}

absl::Status EventFile::WriteRecord(const std::string& data) {
  const std::string length = LittleEndian(static_cast<uint64_t>(data.size()));
  const std::string record =
      length + LittleEndian(Masked(Crc32c(length))) + data + LittleEndian(Masked(Crc32c(data)));
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() ||
      std::fflush(file_.get()) != 0)
    return FileError(path_);
  return absl::OkStatus();
}

absl::Status EventFile::Write(const Values& values, int64_t step, double wall_time) {
  std::string summary;
  // Summary: 1 value. Value: 1 tag, 2 simple_value.
  for (const auto& [tag, value] : values)
    summary += BytesField(1, BytesField(1, tag) + FloatField(2, static_cast<float>(value)));
  return WriteRecord(DoubleField(1, wall_time) + VarintField(2, static_cast<uint64_t>(step)) +
                     BytesField(5, summary));
}

absl::Status TensorBoard::Start(Trainer& trainer) {
  if (trainer.Find<LogReport>() == nullptr)
    return absl::FailedPreconditionError("it writes what a LogReport has logged; Extend(train::LogReport())");
  if (!trainer.is_first()) return absl::OkStatus();
  SINTER_ASSIGN_OR_RETURN(EventFile file, EventFile::Create(trainer.options().out));
  file_ = std::make_unique<EventFile>(std::move(file));
  return absl::OkStatus();
}

absl::Status TensorBoard::Run(Trainer& trainer) {
  const std::vector<Values>& entries = trainer.Find<LogReport>()->entries();
  for (; written_ < entries.size(); ++written_) {
    if (file_ == nullptr) continue;
    Values values = entries[written_];
    const auto step = static_cast<int64_t>(values["iteration"]);
    values.erase("iteration");
    SINTER_RETURN_IF_ERROR(file_->Write(values, step, Now()));
  }
  return absl::OkStatus();
}

absl::Status TensorBoard::Load(const State& state) {
  SINTER_ASSIGN_OR_RETURN(const int64_t written, state.Integer("written"));
  written_ = static_cast<size_t>(std::max<int64_t>(written, 0));
  return absl::OkStatus();
}

}  // namespace sinter::train
