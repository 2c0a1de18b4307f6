#include "sinter/runtime/device/tuning_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"

namespace sinter {
namespace {

// Sorted members: lookups stay fast in large objects.
using Json = nlohmann::json;

constexpr char kFormat[] = "sinter tuning";
// Versions 1 and 2 have "products" in place of "choices" and "product" in place of "problem".
constexpr int64_t kVersion = 3, kVersionWithoutHash = 1;
// Tens of times a plan's needs: about 10,000 entries.
constexpr size_t kMaxBytes = size_t{4} << 20;
constexpr size_t kParsedBytes = 128;  // Most memory per byte of text; nested lists need the most.
constexpr char kHashKey[] = "sha256";
constexpr size_t kMaxTextBytes = 1024;
constexpr double kMaxMicroseconds = 1e9;
// A process holds the lock only while it writes a small file.
constexpr std::chrono::milliseconds kLockLimit(5000), kLockPause(5);

constexpr char kAdvice[] = "; delete it, or move it away, and make it anew with `sinter tune`";

// Calls `f` with the name in the file and the value of each attribute of an algorithm.
template <typename Config, typename F>
void ForEachAttribute(Config& config, F&& f) {
  f("id", config.id);
  f("tile", config.tile);
  f("stages", config.stages);
  f("split_k", config.split_k);
  f("reduction", config.reduction);
  f("swizzle", config.swizzle);
  f("custom", config.custom);
  f("inner_shape", config.inner_shape);
  f("cluster_shape", config.cluster_shape);
  f("ordinal", config.ordinal);
}

// Reads the members of one object and keeps the first error.
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) Refuse(absl::StrCat(where_, " is no object"));
  }

  template <typename T>
  void Integer(const char* key, T* value) {
    const Json* const member = Take(key);
    if (member == nullptr) return;
    constexpr int64_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    const bool is_integer = member->is_number_integer() &&
                            (!member->is_number_unsigned() ||
                             member->template get<uint64_t>() <= std::numeric_limits<int64_t>::max());
    const int64_t number = is_integer ? member->template get<int64_t>() : 0;
    if (!is_integer || number < kLow || number > kHigh) {
      return Refuse(absl::StrCat("\"", key, "\" of ", where_, " is no integer from ", kLow, " to ", kHigh));
    }
    *value = static_cast<T>(number);
  }
  void Microseconds(const char* key, double* value) {
    const Json* const member = Take(key);
    if (member == nullptr) return;
    *value = member->is_number() ? member->get<double>() : 0;
    if (*value > 0 && *value <= kMaxMicroseconds) return;
    Refuse(absl::StrCat("\"", key, "\" of ", where_, " is no time in microseconds"));
  }
  void Text(const char* key, std::string* value) {
    const Json* const member = Take(key);
    if (member == nullptr) return;
    if (member->is_string()) *value = member->get<std::string>();
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    if (!value->empty() && value->size() <= kMaxTextBytes && std::ranges::none_of(*value, is_control)) return;
    Refuse(absl::StrCat("\"", key, "\" of ", where_, " is no text of 1 to ", kMaxTextBytes,
                        " bytes without control characters"));
  }
  // Returns null if the member is missing or after an error.
  const Json* Take(const char* key) {
    if (!error_.empty()) return nullptr;
    const auto found = object_.find(key);
    if (found == object_.end()) {
      Refuse(absl::StrCat(where_, " has no \"", key, "\""));
      return nullptr;
    }
    ++taken_;
    return &*found;
  }
  bool ok() const { return error_.empty(); }
  void Refuse(std::string error) {
    if (error_.empty()) error_ = std::move(error);
  }
  // Returns the first error, or an error about an unknown member; empty if there is none.
  std::string Finish() {
    if (error_.empty() && taken_ < object_.size()) {
      error_ = absl::StrCat(where_, " has members that this version does not know");
    }
    return std::move(error_);
  }

 private:
  const Json& object_;
  std::string where_;
  std::string error_;
  size_t taken_ = 0;
};

std::string ParseAlgorithm(const Json& json, const std::string& where, AlgorithmConfig* config) {
  ObjectReader reader(json, absl::StrCat("the algorithm of ", where));
  ForEachAttribute(*config, [&](const char* key, auto& value) { reader.Integer(key, &value); });
  return reader.Finish();
}

std::string ParseChoice(const Json& json, size_t index, int64_t version, TuningTable* table) {
  const std::string where = absl::StrCat("choice ", index);
  ObjectReader reader(json, where);
  TuningKey key;
  TunedAlgorithm tuned;
  std::string bits;
  reader.Text("device", &key.device);
  reader.Text("library", &key.library);
  reader.Text(version < kVersion ? "product" : "problem", &key.problem);
  if (const Json* const algorithm = reader.Take("algorithm"); algorithm != nullptr) {
    if (std::string error = ParseAlgorithm(*algorithm, where, &tuned.algorithm); !error.empty()) {
      reader.Refuse(std::move(error));
    }
  }
  reader.Microseconds("first_us", &tuned.first_us);
  reader.Microseconds("chosen_us", &tuned.chosen_us);
  reader.Text("bits", &bits);
  tuned.any_bits = bits == "any";
  if (bits != "any" && bits != "same") {
    reader.Refuse(absl::StrCat("\"bits\" of ", where, R"( is neither "same" nor "any")"));
  }
  std::string error = reader.Finish();
  if (error.empty() && !table->emplace(key, tuned).second) {
    error = absl::StrCat(where, " is there twice: ", PrintableText(key.problem));
  }
  return error;
}

// Returns null if the text is no JSON or an object repeats a member name; `error` then says why.
Json ParseJson(std::string_view text, std::string* error) {
  // Member names seen in each open object.
  std::vector<std::set<std::string>> names;
  const auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second) {
      *error = absl::StrCat("the member \"", PrintableText(parsed.get<std::string>()), "\" is there twice");
    }
    return true;
  };
  try {
    Json json = Json::parse(text, check);
    return error->empty() ? json : nullptr;
  } catch (const std::bad_alloc&) {
    throw;  // WithinMemory handles it, after all parsed data is freed.
  } catch (const std::exception& exception) {
    *error = PrintableText(exception.what());
    return nullptr;
  }
}

// Returns the hash of the text, computed with the digits at `at` as '0'.
std::string TextHash(std::string_view text, size_t at) {
  Sha256 hash;
  hash.Update(AsBytes(text.substr(0, at)));
  hash.Update(AsBytes(std::string(kSha256Digits, '0')));
  hash.Update(AsBytes(text.substr(at + kSha256Digits)));
  return HexText(hash.Digest());
}

// Returns the position of the hash's digits; npos if there is none. In a file written by Sinter they precede
// all entries.
size_t FindHash(std::string_view text) {
  const std::string before = absl::StrCat("\"", kHashKey, "\": \"");
  const size_t at = text.find(before);
  if (at == text.npos || text.size() - at < before.size() + kSha256Digits) return text.npos;
  return at + before.size();
}

// Returns the folder of the file itself, even if the path is a symbolic link.
std::string FolderOfFile(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, ignored);
  const std::filesystem::path folder =
      (resolved.empty() ? std::filesystem::path(path) : resolved).parent_path();
  return folder.empty() ? std::string(1, '.') : folder.string();
}

// An advisory lock on a folder. Local file systems support it without a lock file that stays behind. It only
// makes writers wait for each other; files are replaced as a whole even without it.
class FolderLock {
 public:
  static absl::StatusOr<FolderLock> Take(const std::string& path) {
    const std::string folder = FolderOfFile(path);
    FolderLock lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto failed = [&](const char* action) {
      return absl::ErrnoToStatus(
          errno, absl::StrCat("cannot ", action, " the folder '", folder, "' to write a tuning file"));
    };
    if (lock.fd_ < 0) return failed("open");
    const auto end = std::chrono::steady_clock::now() + kLockLimit;
    while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      // Network file systems may lock only files. Of two concurrent writers one may then lose its entries.
      if (errno == EBADF || errno == ENOLCK || errno == EOPNOTSUPP || errno == EINVAL) return lock;
      if (errno != EWOULDBLOCK && errno != EINTR) return failed("lock");
      // No writer takes this long. Losing a concurrent entry is better than losing all new ones.
      if (std::chrono::steady_clock::now() > end) return lock;
      std::this_thread::sleep_for(kLockPause);
    }
    return lock;
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

absl::Status Damaged(const std::string& name, const std::string& error) {
  return absl::DataLossError(absl::StrCat(name, ": no whole tuning file: ", error, kAdvice));
}

std::string TooLarge(uint64_t bytes) {
  return absl::StrCat("it has ", bytes, " bytes, and at most ", kMaxBytes, " are read");
}

absl::StatusOr<TuningTable> ParseFile(std::string_view text, const std::string& name) {
  const auto damaged = [&name](const std::string& error) { return Damaged(name, error); };
  std::string error;
  const Json json = ParseJson(text, &error);
  if (!error.empty()) return damaged(error);
  ObjectReader reader(json, "the file");
  std::string format, hash;
  int64_t version = 0;
  reader.Text("format", &format);
  if (format != kFormat) reader.Refuse(absl::StrCat("its \"format\" is not \"", kFormat, "\""));
  reader.Integer("version", &version);
  if (reader.ok() && (version < kVersionWithoutHash || version > kVersion)) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": a tuning file of version ", version,
                                                      ", and this build reads version ", kVersion, kAdvice));
  }
  if (version > kVersionWithoutHash) {
    reader.Text(kHashKey, &hash);
    const size_t at = FindHash(text);
    if (at == text.npos || TextHash(text, at) != text.substr(at, kSha256Digits) ||
        hash != text.substr(at, kSha256Digits)) {
      reader.Refuse(absl::StrCat("it was altered: its hash is not the one in \"", kHashKey, "\""));
    }
  }
  const char* const list = version < kVersion ? "products" : "choices";
  const Json* const choices = reader.Take(list);
  if (choices != nullptr && !choices->is_array()) reader.Refuse(absl::StrCat("\"", list, "\" is no list"));
  if (error = reader.Finish(); !error.empty()) return damaged(error);
  TuningTable table;
  for (size_t i = 0; i < choices->size(); ++i) {
    if (error = ParseChoice((*choices)[i], i, version, &table); !error.empty()) return damaged(error);
  }
  return table;
}

}  // namespace

absl::StatusOr<TuningTable> ParseTuning(std::string_view text, const std::string& name) {
  if (text.size() > kMaxBytes) return Damaged(name, TooLarge(text.size()));
  // The JSON library's destructors allocate, and a failure there ends the process. So check that the largest
  // possible need is available.
  const size_t bytes = kParsedBytes * text.size();
  char* volatile room =
      static_cast<char*>(std::malloc(bytes));  // Volatile keeps the compiler from removing both calls.
  const bool has_room = room != nullptr;
  std::free(room);
  if (!has_room) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": main memory has no room for the ", bytes, " bytes that reading it may take"));
  }
  return WithinMemory(name, [&] { return ParseFile(text, name); });
}

std::string TuningText(const TuningTable& table) {
  // An ordered object keeps the members in reading order.
  using Ordered = nlohmann::ordered_json;
  std::string text = absl::StrCat(R"({"format": ")", kFormat, R"(", "version": )", kVersion, R"(, ")",
                                  kHashKey, R"(": ")", std::string(kSha256Digits, '0'), R"(", "choices": [)");
  const char* separator = "\n";
  for (const auto& [key, tuned] : table) {
    Ordered algorithm;
    ForEachAttribute(tuned.algorithm, [&](const char* name, auto value) { algorithm[name] = value; });
    const Ordered line = {{"device", key.device},
                          {"library", key.library},
                          {"problem", key.problem},
                          {"algorithm", std::move(algorithm)},
                          {"first_us", tuned.first_us},
                          {"chosen_us", tuned.chosen_us},
                          {"bits", tuned.any_bits ? "any" : "same"}};
    absl::StrAppend(&text, separator, line.dump(-1, ' ', false, Ordered::error_handler_t::replace));
    separator = ",\n";
  }
  text += "\n]}\n";
  const size_t at = FindHash(text);
  return text.replace(at, kSha256Digits, TextHash(text, at));
}

absl::StatusOr<TuningTable> LoadTuning(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const FileReader reader, FileReader::Open(path));
  if (reader.size() > kMaxBytes) return Damaged(path, TooLarge(reader.size()));
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(reader, 0, reader.size()));
  return ParseTuning(file.text(), path);
}

absl::Status SaveTuning(const std::string& path, const TuningTable& choices) {
  SINTER_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(path));
  absl::StatusOr<TuningTable> table = LoadTuning(path);
  if (absl::IsNotFound(table.status())) table = TuningTable();
  SINTER_RETURN_IF_ERROR(table.status());
  for (const auto& [key, tuned] : choices) (*table)[key] = tuned;
  const std::string text = TuningText(*table);
  if (text.size() > kMaxBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": ", table->size(), " choices take ", text.size(),
                                                     " bytes, and at most ", kMaxBytes,
                                                     " are read; begin another tuning file"));
  }
  return WriteFileAtomically(path, text);
}

}  // namespace sinter
