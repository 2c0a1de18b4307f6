// Cuts text into the words within which byte pairs are merged, for Sinter's own sources.
//
//   SplitWords("it's  2 words", WordPattern::kGpt2, [](std::string_view word) { ... });
//   // "it", "'s", " ", " 2", " words"
//
// The patterns are those of GPT-2's encoder.py and of tiktoken's cl100k_base. Both end in `\s+(?!\S)|\s+`: a
// run of spaces leaves its last one to the word behind it. RE2 has no look-ahead, so this function does that.
#ifndef SINTER_FRONTEND_DATA_TEXT_SPLIT_WORDS_H_
#define SINTER_FRONTEND_DATA_TEXT_SPLIT_WORDS_H_

#include <functional>
#include <string_view>

#include "sinter/frontend/data/text/tokenizer.h"

namespace sinter::data {

// Calls `f` for each word of valid UTF-8, in order. The words together are the text. Thread-safe.
void SplitWords(std::string_view text, WordPattern pattern, const std::function<void(std::string_view)>& f);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_TEXT_SPLIT_WORDS_H_
