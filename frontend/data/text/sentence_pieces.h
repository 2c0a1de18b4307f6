// The model of a tokenizer by SentencePiece, for Sinter's own sources.
//
// sentence_piece_library.cc alone includes the library's header, because the header declares a string_view in
// namespace absl that clashes with Abseil's.
#ifndef SINTER_FRONTEND_DATA_TEXT_SENTENCE_PIECES_H_
#define SINTER_FRONTEND_DATA_TEXT_SENTENCE_PIECES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/text/token_model.h"

namespace sinter::data {

// Loads a model file of SentencePiece (Kudo and Richardson, arXiv 1808.06226). DataLoss if it is none.
absl::StatusOr<std::shared_ptr<const TokenModel>> LoadSentencePieces(const std::string& path);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_TEXT_SENTENCE_PIECES_H_
