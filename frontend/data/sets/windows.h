// Windows of a long text to train language models on: x, and y, which is x shifted by one token.
//
//   SINTER_ASSIGN_OR_RETURN(data::Dataset windows, data::Windows("train.bin", {.time = 1024}));
//
//   SINTER_ASSIGN_OR_RETURN(data::Dataset text, data::Lines("corpus.txt"));
//   data::Dataset ids = text.Map(words.EncodeMap(), {"ids"});
//   SINTER_ASSIGN_OR_RETURN(data::Dataset packed, data::Pack(ids, {.time = 1024, .separator = 50256}));
#ifndef SINTER_FRONTEND_DATA_SETS_WINDOWS_H_
#define SINTER_FRONTEND_DATA_SETS_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/frontend/data/tokens.h"

namespace sinter::data {

struct WindowOptions {
  int64_t time = 0;  // Tokens of a window. Must be given.
  int64_t stride =
      0;  // From the start of a window to the next one's. 0: `time`, so that each token is once in y.
  std::vector<std::string> names = {"x", "y"};
};

// Window i has x = tokens [i stride, i stride + time) and y = those one further. Tokens behind the last whole
// window are left out. InvalidArgument: a time or stride below 1, fewer tokens than a window and one more, or
// other than 2 names.
absl::StatusOr<Dataset> Windows(TokenSet tokens, const WindowOptions& options);
// The same of a file of token ids, as TokenSet::ReadU16 takes it. Larger ids: pass TokenSet::ReadU32(path).
absl::StatusOr<Dataset> Windows(const std::string& path, const WindowOptions& options);

struct PackOptions {
  int64_t time = 0;                                 // As WindowOptions::time.
  std::optional<int32_t> separator = std::nullopt;  // A token behind each example, such as the end of text.
  std::vector<int64_t> lengths = {};                // Lengths of the examples. Empty: Pack reads all once.
  std::vector<std::string> names = {"x", "y"};
};

// Windows over the examples of `set`, one behind the other: no padding, and no token is lost but behind the
// last window. The first field of the set is i32 [length]. A window reads the examples that it covers, so the
// set may be larger than the main memory. Only `lengths` are kept. The set must give equal lengths each time,
// so its maps must not change them at random. InvalidArgument: as Windows; a field that is not i32 [length];
// another number of lengths than examples; an example that has another length when it is read later.
absl::StatusOr<Dataset> Pack(const Dataset& set, const PackOptions& options);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_SETS_WINDOWS_H_
