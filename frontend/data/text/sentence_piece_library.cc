#include "sinter/frontend/data/text/sentence_piece_library.h"

#include <sentencepiece_processor.h>

namespace sinter::data {
namespace {

class Library final : public SentencePieceLibrary {
 public:
  std::string Load(std::string_view model) {
    const auto status = processor_.LoadFromSerializedProto(model);
    return status.ok() ? "" : status.ToString();
  }

  int32_t size() const override { return processor_.GetPieceSize(); }

  std::string Append(std::string_view text, std::vector<int32_t>* ids) const override {
    std::vector<int> pieces;
    const auto status = processor_.Encode(text, &pieces);
    if (!status.ok()) return status.ToString();
    ids->insert(ids->end(), pieces.begin(), pieces.end());
    return "";
  }

  std::string Decode(const std::vector<int32_t>& ids, std::string* text) const override {
    const auto status = processor_.Decode(ids, text);
    return status.ok() ? "" : status.ToString();
  }

  std::string Piece(int32_t id) const override {
    if (processor_.IsControl(id)) return "";
    const std::string& piece = processor_.IdToPiece(id);
    if (processor_.IsByte(id))
      return std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
    if (processor_.IsUnknown(id)) {
      std::string text;
      return processor_.Decode(std::vector<int>{id}, &text).ok() ? text : "";
    }
    // U+2581 stands for a space.
    constexpr std::string_view kSpace = "\xe2\x96\x81";
    std::string text;
    for (size_t at = 0; at < piece.size();) {
      const bool is_space = std::string_view(piece).substr(at).starts_with(kSpace);
      text += is_space ? ' ' : piece[at];
      at += is_space ? kSpace.size() : 1;
    }
    return text;
  }

  int32_t Find(std::string_view token) const override {
    const int id = processor_.PieceToId(token);
    return processor_.IdToPiece(id) == token ? id : -1;
  }

  int32_t begin() const override { return processor_.bos_id(); }
  int32_t end() const override { return processor_.eos_id(); }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<const SentencePieceLibrary> SentencePieceLibrary::Load(std::string_view model,
                                                                       std::string* error) {
  auto library = std::make_unique<Library>();
  *error = library->Load(model);
  if (!error->empty()) return nullptr;
  return library;
}

}  // namespace sinter::data
