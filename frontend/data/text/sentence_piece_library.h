// The SentencePiece library behind types of the standard library, for Sinter's own sources.
#ifndef SINTER_FRONTEND_DATA_TEXT_SENTENCE_PIECE_LIBRARY_H_
#define SINTER_FRONTEND_DATA_TEXT_SENTENCE_PIECE_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::data {

// Methods give an empty string, or what went wrong. Thread-safe.
class SentencePieceLibrary {
 public:
  // Null, and *error set, if the bytes are no model.
  static std::unique_ptr<const SentencePieceLibrary> Load(std::string_view model, std::string* error);
  virtual ~SentencePieceLibrary() = default;

  virtual int32_t size() const = 0;
  virtual std::string Append(std::string_view text, std::vector<int32_t>* ids) const = 0;
  virtual std::string Decode(const std::vector<int32_t>& ids, std::string* text) const = 0;
  // The text of a piece, with its space. Empty for control tokens.
  virtual std::string Piece(int32_t id) const = 0;
  // -1: there is none.
  virtual int32_t Find(std::string_view token) const = 0;
  virtual int32_t begin() const = 0;
  virtual int32_t end() const = 0;
};

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_TEXT_SENTENCE_PIECE_LIBRARY_H_
