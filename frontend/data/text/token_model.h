// The model of a tokenizer, SentencePiece's or byte pairs, for Sinter's own sources.
#ifndef SINTER_FRONTEND_DATA_TEXT_TOKEN_MODEL_H_
#define SINTER_FRONTEND_DATA_TEXT_TOKEN_MODEL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter::data {

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  virtual int32_t size() const = 0;
  // Appends the ids of valid UTF-8. Thread-safe.
  virtual absl::Status Append(std::string_view text, bool parse_special, std::vector<int32_t>* ids) const = 0;
  // The ids are below size().
  virtual absl::StatusOr<std::string> Decode(std::span<const int32_t> ids) const = 0;
  virtual std::string Piece(int32_t id) const = 0;
  virtual std::optional<int32_t> Find(std::string_view token) const = 0;
  virtual std::optional<int32_t> begin() const = 0;
  virtual std::optional<int32_t> end() const = 0;
};

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_TEXT_TOKEN_MODEL_H_
