// A text file with the loss of each training step, a line each, so that runs can be compared.
//
//   SINTER_ASSIGN_OR_RETURN(LossFile file, LossFile::Create("losses.txt", /*parts=*/1));   // "": none.
//   file.Add(losses.values);
//   SINTER_RETURN_IF_ERROR(file.Close());
#ifndef SINTER_EXAMPLES_LOSS_FILE_H_
#define SINTER_EXAMPLES_LOSS_FILE_H_

#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace sinter::examples {

class LossFile {
 public:
  // A step has `parts` losses, whose mean is written. Without a path nothing is. NotFound: the file cannot be
  // written.
  static absl::StatusOr<LossFile> Create(const std::string& path, int64_t parts) {
    LossFile file;
    file.path_ = path;
    file.parts_ = parts;
    if (path.empty()) return file;
    file.stream_.open(path);
    if (!file.stream_) return absl::NotFoundError(absl::StrCat("cannot write ", path));
    file.stream_.precision(std::numeric_limits<double>::max_digits10);
    return file;
  }

  void Add(std::span<const double> losses) {
    if (path_.empty()) return;
    for (double loss : losses) {
      sum_ += loss;
      if (++count_ % parts_ != 0) continue;
      stream_ << sum_ / static_cast<double>(parts_) << "\n";
      sum_ = 0;
    }
  }

  absl::Status Close() {
    if (path_.empty()) return absl::OkStatus();
    stream_.close();
    return stream_ ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path_));
  }

 private:
  std::string path_;
  std::ofstream stream_;
  int64_t parts_ = 1, count_ = 0;
  double sum_ = 0;
};

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_LOSS_FILE_H_
