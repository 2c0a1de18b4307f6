// A text file of records that end in line breaks, read one at a time. For Sinter's own sources.
//
//   SINTER_ASSIGN_OR_RETURN(RecordFile file, RecordFile::Open("corpus.txt", RecordFile::Quotes::kPlain));
//   SINTER_ASSIGN_OR_RETURN(std::string line, file.Read(17));
//
// Open reads the file once and keeps the places of the records, 8 bytes for each. A record ends with "\n" or
// "\r\n", which do not belong to it; the last one may end with the file. If another program changes the file
// afterwards, reads give other text, or DataLoss if it was shortened.
#ifndef SINTER_FRONTEND_DATA_SETS_RECORD_FILE_H_
#define SINTER_FRONTEND_DATA_SETS_RECORD_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/runtime/formats/file.h"

namespace sinter::data {

class RecordFile {
 public:
  enum class Quotes {
    kPlain,   // A quote is a character.
    kQuoted,  // A line break between double quotes belongs to the record (RFC 4180).
  };

  // DataLoss if a quote is not closed.
  static absl::StatusOr<RecordFile> Open(const std::string& path, Quotes quotes);

  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  const std::string& path() const { return file_->path(); }
  // Several threads may read.
  absl::StatusOr<std::string> Read(int64_t i) const;

 private:
  RecordFile() = default;

  std::shared_ptr<const FileReader> file_;
  std::vector<int64_t> ends_;  // Behind each record's line break.
};

// Makes u8 [length] of the bytes of a text.
absl::StatusOr<HostTensor> TextTensor(std::string_view text);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_SETS_RECORD_FILE_H_
