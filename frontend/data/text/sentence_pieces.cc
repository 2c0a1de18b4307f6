#include "sinter/frontend/data/text/sentence_pieces.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/text/sentence_piece_library.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

std::optional<int32_t> IfThere(int32_t id) {
  if (id < 0) return std::nullopt;
  return id;
}

class SentencePieces final : public TokenModel {
 public:
  explicit SentencePieces(std::unique_ptr<const SentencePieceLibrary> library)
      : library_(std::move(library)) {}

  int32_t size() const override { return library_->size(); }

  absl::Status Append(std::string_view text, bool parse_special, std::vector<int32_t>* ids) const override {
    if (parse_special) {
      return absl::InvalidArgumentError(
          "parse_special is not for SentencePiece: its model says which of its tokens are found in text");
    }
    if (const std::string error = library_->Append(text, ids); !error.empty()) {
      return absl::InternalError(absl::StrCat("SentencePiece: ", error));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Decode(std::span<const int32_t> ids) const override {
    std::string text;
    if (const std::string error = library_->Decode({ids.begin(), ids.end()}, &text); !error.empty()) {
      return absl::InternalError(absl::StrCat("SentencePiece: ", error));
    }
    return text;
  }

  std::string Piece(int32_t id) const override { return library_->Piece(id); }
  std::optional<int32_t> Find(std::string_view token) const override {
    return IfThere(library_->Find(token));
  }
  std::optional<int32_t> begin() const override { return IfThere(library_->begin()); }
  std::optional<int32_t> end() const override { return IfThere(library_->end()); }

 private:
  const std::unique_ptr<const SentencePieceLibrary> library_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const TokenModel>> LoadSentencePieces(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
  std::string error;
  std::unique_ptr<const SentencePieceLibrary> library = SentencePieceLibrary::Load(file.text(), &error);
  if (library == nullptr) {
    return absl::DataLossError(absl::StrCat(
        path, ": is no model of SentencePiece: ", error,
        "; for GPT-2's byte pairs, name the folder with vocab.json and merges.txt, or use LoadBytePairs"));
  }
  return std::make_shared<const SentencePieces>(std::move(library));
}

}  // namespace sinter::data
