#include "sinter/runtime/session/file_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace sinter::internal_session {
namespace {

using ::testing::HasSubstr;

// Each element is in one piece; all but the first begin at a page of the file.
TEST(FilePiecesTest, PiecesCoverItemsAndBeginAtPages) {
  constexpr int64_t kElements = 3'000'001, kSize = 4;
  constexpr uint64_t kOffset = 4096 + 100;
  FilePieces pieces;
  pieces.Add(0, kElements, kSize, kOffset);
  pieces.Add(1, 0, kSize);
  std::mutex mutex;
  std::vector<int> seen(kElements);
  ASSERT_EQ(pieces.ForEach(3,
                           [&](const FilePiece& piece, std::byte* memory) {
                             const std::lock_guard<std::mutex> lock(mutex);
                             EXPECT_EQ(piece.item, 0u);
                             EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % FilePieces::kAlignment, 0u);
                             EXPECT_LE(piece.count * kSize, FilePieces::kBytes);
                             const uint64_t begin = kOffset + static_cast<uint64_t>(piece.first * kSize);
                             EXPECT_TRUE(piece.first == 0 || begin % FilePieces::kAlignment == 0);
                             for (int64_t i = 0; i < piece.count; ++i) {
                               ++seen[static_cast<size_t>(piece.first + i)];
                             }
                             return absl::OkStatus();
                           }),
            absl::OkStatus());
  EXPECT_EQ(seen, std::vector<int>(kElements, 1));
}

TEST(FilePiecesTest, TheFirstErrorEndsTheWork) {
  FilePieces pieces;
  pieces.Add(0, 1000 * FilePieces::kBytes, 1);
  std::atomic<int> calls = 0;
  const absl::Status status = pieces.ForEach(2, [&](const FilePiece&, std::byte*) {
    return ++calls < 5 ? absl::OkStatus() : absl::DataLossError("bad");
  });
  EXPECT_EQ(status, absl::DataLossError("bad"));
  EXPECT_LT(calls, 20);
}

TEST(FilePiecesTest, ALackOfMemoryIsAnError) {
  FilePieces pieces;
  pieces.Add(0, 8, 1);
  const absl::Status status =
      pieces.ForEach(2, [](const FilePiece&, std::byte*) -> absl::Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a piece of the file: the main memory has no room"));
}

}  // namespace
}  // namespace sinter::internal_session
