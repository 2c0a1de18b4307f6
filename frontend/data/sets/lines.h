// The lines of text files.
//
//   SINTER_ASSIGN_OR_RETURN(data::Dataset text, data::Lines({"a.txt", "b.txt"}));       // text u8 [bytes]
//   data::Dataset ids = text.Map(words.EncodeMap({.max_length = 512}), {"ids"});        // text/tokenizer.h
//
// Example i is line i, without its line break ("\n" or "\r\n"), as bytes. The files may be larger than the
// main memory: 8 bytes are kept for each line.
#ifndef SINTER_FRONTEND_DATA_SETS_LINES_H_
#define SINTER_FRONTEND_DATA_SETS_LINES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"

namespace sinter::data {

struct LinesOptions {
  std::string name = "text";
};

// Reads each file once. InvalidArgument for no file; errors of runtime/formats/file.h.
absl::StatusOr<Dataset> Lines(std::vector<std::string> paths, const LinesOptions& options = {});
absl::StatusOr<Dataset> Lines(const std::string& path, const LinesOptions& options = {});

// Returns the text of a field of bytes, as Lines gives it. InvalidArgument for another tensor than u8 [n].
absl::StatusOr<std::string> TextOf(const HostTensor& field);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_SETS_LINES_H_
