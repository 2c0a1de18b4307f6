#include "sinter/frontend/data/named_batches.h"

#include <utility>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

absl::StatusOr<NamedBatches> Named(std::vector<std::string> names, int64_t max_epochs = 0) {
  std::vector<HostTensor> tensors;
  tensors.push_back(Tensor<float>({5, 1}, {0, 1, 2, 3, 4}));
  tensors.push_back(Tensor<int32_t>({5}, {0, 1, 2, 3, 4}));
  BatchOptions options{.batch_size = 2, .seed = 4, .last = LastBatch::kPad, .max_epochs = max_epochs};
  SINTER_ASSIGN_OR_RETURN(BatchIterator batches, BatchIterator::Create(std::move(tensors), options));
  return NamedBatches::Create(std::move(batches), std::move(names));
}

TEST(NamedBatchesTest, IsAStreamOfTheIteratorsBatches) {
  ASSERT_OK_AND_ASSIGN(NamedBatches named, Named({"x", "t"}, /*max_epochs=*/1));
  BatchStream& stream = named;
  EXPECT_THAT(stream.names(), testing::ElementsAre("x", "t"));
  EXPECT_EQ(stream.batches_per_epoch(), 3);
  EXPECT_EQ(stream.num_examples(), 5);
  ASSERT_OK(stream.Next());
  const std::string position = stream.Save();
  ASSERT_OK_AND_ASSIGN(const Batch second, stream.Next());
  ASSERT_OK_AND_ASSIGN(const Batch last, stream.Next());
  EXPECT_TRUE(last.ends_epoch);
  EXPECT_EQ(Values<float>(last.weights), (std::vector<float>{1, 0}));
  EXPECT_EQ(stream.Next().status().code(), absl::StatusCode::kOutOfRange);
  ASSERT_OK(stream.Load(position));
  ASSERT_OK_AND_ASSIGN(const Batch again, stream.Next());
  EXPECT_EQ(Values<int32_t>(again.tensors[1]), Values<int32_t>(second.tensors[1]));
}

TEST(NamedBatchesTest, MistakesAreErrors) {
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_ERROR(Named({"x"}), code, "NamedBatches: 1 names for batches of 2 tensors; give each tensor one");
  EXPECT_ERROR(Named({"x", ""}), code, "a name is empty");
  EXPECT_ERROR(Named({"x", "x"}), code, "two tensors have the name \"x\"");
  ASSERT_OK_AND_ASSIGN(NamedBatches named, Named({"x", "t"}));
  EXPECT_EQ(named.Load("nonsense").code(), code);
}

}  // namespace
}  // namespace sinter
