#include "sinter/frontend/data/loader.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

// Example i has the fields i and a random number.
Dataset Random(int64_t count) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return Tensors({{"i", Tensor<int32_t>({count}, numbers)}})
      ->Map(
          [](Example e, SplitMix& bits) -> absl::StatusOr<Example> {
            if (bits.Below(8) == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
            e.fields.push_back(Tensor<int64_t>({1}, {static_cast<int64_t>(bits.Next() >> 1)}));
            return e;
          },
          {"i", "random"});
}

struct Row {
  int64_t epoch, batch, example, random;
  auto operator<=>(const Row&) const = default;
};

std::vector<Row> RowsOf(const Batch& batch) {
  std::vector<Row> rows;
  const std::vector<int32_t> examples = Values<int32_t>(batch.tensors[0]);
  const std::vector<int64_t> randoms = Values<int64_t>(batch.tensors[1]);
  for (size_t i = 0; i < static_cast<size_t>(batch.num_examples); ++i) {
    rows.push_back({batch.epoch, batch.index, examples[i], randoms[i]});
  }
  return rows;
}

std::vector<Row> ReadSteps(Loader& loader, int64_t count) {
  std::vector<Row> all;
  const absl::Status status = loader.Steps(count, [&](const Batch& batch) {
    for (const Row& row : RowsOf(batch)) all.push_back(row);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return all;
}

std::vector<Row> ReadSteps(const LoaderOptions& options, int64_t count, int64_t examples = 53) {
  absl::StatusOr<Loader> loader = Loader::Create(Random(examples), options);
  EXPECT_TRUE(loader.ok()) << loader.status();
  return ReadSteps(*loader, count);
}

TEST(LoaderTest, AnyNumberOfWorkersGivesTheSameBatches) {
  const std::vector<Row> expected = ReadSteps({.batch = 8, .seed = 3, .workers = 0}, 20);
  EXPECT_EQ(expected.size(), 2u * 53 + 6 * 8);  // Two epochs of 7 batches, and 6 batches.
  for (const int workers : {1, 2, 8}) {
    for (const int ahead : {0, 1, 5}) {
      EXPECT_EQ(ReadSteps({.batch = 8, .seed = 3, .workers = workers, .ahead = ahead}, 20), expected);
    }
  }
}

TEST(LoaderTest, RandomNumbersDependOnSeedEpochAndExample) {
  const std::vector<Row> a = ReadSteps({.batch = 10, .order = Sequential(), .seed = 1}, 2, 10);
  const std::vector<Row> b = ReadSteps({.batch = 5, .order = Sequential(), .seed = 1}, 2, 10);
  const std::vector<Row> c = ReadSteps({.batch = 10, .order = Sequential(), .seed = 2}, 1, 10);
  std::set<int64_t> randoms;
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(a[i].random, b[i].random) << "another batch size";
    randoms.insert({a[i].random, a[10 + i].random, c[i].random});
  }
  EXPECT_EQ(randoms.size(), 30u);
}

TEST(LoaderTest, ExamplesThatAreDrawnTwiceGetOtherRandomNumbers) {
  const LoaderOptions options = {.batch = 50, .order = Weighted({1, 1, 0}, 50), .last = LastBatch::kDrop};
  std::set<int64_t> randoms;
  for (const Row& row : ReadSteps(options, 1, 3)) randoms.insert(row.random);
  EXPECT_EQ(randoms.size(), 50u);
}

TEST(LoaderTest, ResumesAfterAnyBatch) {
  const LoaderOptions options = {.batch = 8, .seed = 5, .workers = 3, .ahead = 3};
  const std::vector<Row> expected = ReadSteps(options, 18);
  for (int64_t stop = 0; stop < 18; ++stop) {
    ASSERT_OK_AND_ASSIGN(Loader first, Loader::Create(Random(53), options));
    std::vector<Row> rows = ReadSteps(first, stop);
    const std::string position = first.Save();
    ASSERT_OK_AND_ASSIGN(Loader second, Loader::Create(Random(53), options));
    if (stop % 2 == 1) ReadSteps(second, 3);  // Loading discards what is read ahead.
    ASSERT_OK(second.Load(position));
    EXPECT_EQ(second.Save(), position);
    for (const Row& row : ReadSteps(second, 18 - stop)) rows.push_back(row);
    EXPECT_EQ(rows, expected) << position;
  }
}

TEST(LoaderTest, PositionIsALineOfText) {
  ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(Random(53), {.batch = 8, .seed = 5}));
  ReadSteps(loader, 9);
  EXPECT_EQ(loader.Save(), "epoch=1 batch=2 seed=5 num_examples=53 batch_size=8 order=shuffled last=keep");
  ASSERT_OK(loader.Load("epoch=4 batch=6 seed=5 num_examples=53 batch_size=8 order=shuffled last=keep"));
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader.Next());
  EXPECT_EQ(batch.epoch, 4);
  EXPECT_EQ(batch.index, 6);
  EXPECT_TRUE(batch.ends_epoch);
  EXPECT_EQ(batch.state_after.epoch, 5);
  EXPECT_EQ(batch.state_after.batch, 0);
}

TEST(LoaderTest, PositionsOfOtherDataOrOptions) {
  ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(Random(53), {.batch = 8, .seed = 5}));
  const auto load = [&](const std::string& text) { return loader.Load(text); };
  EXPECT_ERROR(load("epoch=1"), StatusCode::kInvalidArgument,
               "no position of a loader: 'epoch=1'; it looks like 'epoch=0");
  EXPECT_ERROR(load("epoch=x batch=2 seed=5 num_examples=53 batch_size=8 order=shuffled last=keep"),
               StatusCode::kInvalidArgument, "no position of a loader");
  EXPECT_ERROR(load("epoch=1 batch=2 seed=6 num_examples=53 batch_size=8 order=shuffled last=keep"),
               StatusCode::kInvalidArgument,
               "cannot resume: the saved seed is 6, here it is 5; batches would differ");
  EXPECT_ERROR(load("epoch=1 batch=2 seed=5 num_examples=54 batch_size=8 order=shuffled last=keep"),
               StatusCode::kInvalidArgument, "saved number of examples is 54, here it is 53");
  EXPECT_ERROR(load("epoch=1 batch=2 seed=5 num_examples=53 batch_size=9 order=shuffled last=keep"),
               StatusCode::kInvalidArgument, "saved batch size is 9");
  EXPECT_ERROR(load("epoch=1 batch=2 seed=5 num_examples=53 batch_size=8 order=sequential last=keep"),
               StatusCode::kInvalidArgument, "saved order is sequential, here it is shuffled");
  EXPECT_ERROR(load("epoch=1 batch=2 seed=5 num_examples=53 batch_size=8 order=shuffled last=pad"),
               StatusCode::kInvalidArgument, "saved last batch rule is pad, here it is keep");
  EXPECT_ERROR(load("epoch=1 batch=7 seed=5 num_examples=53 batch_size=8 order=shuffled last=keep"),
               StatusCode::kInvalidArgument, "there is no batch 7 of epoch 1; an epoch has 7 batches");
}

TEST(LoaderTest, EndsOfEpochsAreExact) {
  for (const LastBatch last : {LastBatch::kKeep, LastBatch::kDrop, LastBatch::kPad}) {
    ASSERT_OK_AND_ASSIGN(Loader loader,
                         Loader::Create(Random(53), {.batch = 8, .last = last, .max_epochs = 2}));
    const bool drops = last == LastBatch::kDrop;
    EXPECT_EQ(loader.batches_per_epoch(), drops ? 6 : 7);
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::set<int64_t> seen;
      int batches = 0;
      double weights = 0;
      ASSERT_OK(loader.Epoch([&](const Batch& batch) {
        const bool is_last = ++batches == loader.batches_per_epoch();
        EXPECT_EQ(batch.ends_epoch, is_last);
        EXPECT_EQ(batch.epoch, epoch);
        EXPECT_EQ(batch.num_examples, is_last && !drops ? 5 : 8);
        EXPECT_EQ(batch.rows, is_last && last == LastBatch::kKeep ? 5 : 8);
        EXPECT_EQ(batch.tensors[0].shape()[0], batch.rows);
        for (const float weight : Values<float>(batch.weights)) weights += weight;
        for (const Row& row : RowsOf(batch)) EXPECT_TRUE(seen.insert(row.example).second);
        return absl::OkStatus();
      }));
      EXPECT_EQ(batches, loader.batches_per_epoch());
      EXPECT_EQ(seen.size(), drops ? 48u : 53u);
      EXPECT_EQ(weights, drops ? 48 : 53);
    }
    EXPECT_ERROR(loader.Next(), StatusCode::kOutOfRange, "no more batches after 2 epochs");
    EXPECT_ERROR(loader.Steps(1, [](const Batch&) { return absl::OkStatus(); }), StatusCode::kOutOfRange,
                 "2 epochs");
    EXPECT_TRUE(loader.Epoch([](const Batch&) { return absl::InternalError("called"); }).ok());
  }
}

TEST(LoaderTest, RanksReadEachExampleOnce) {
  for (const int64_t examples : {48, 52, 50}) {
    const LoaderOptions one = {.batch = 16, .last = LastBatch::kPad, .seed = 2};
    std::vector<Row> all;
    for (int64_t rank = 0; rank < 4; ++rank) {
      LoaderOptions options = one;
      options.rows = {.rank = rank, .ranks = 4};
      ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(Random(examples), options));
      EXPECT_EQ(loader.num_examples(), examples);
      ASSERT_OK(loader.Epoch([&](const Batch& batch) {
        EXPECT_EQ(batch.rows, 4);
        EXPECT_EQ(batch.tensors[1].shape()[0], 4);
        for (const Row& row : RowsOf(batch)) all.push_back(row);
        for (int64_t row = batch.num_examples; row < 4; ++row) {
          EXPECT_EQ(Values<int64_t>(batch.tensors[1])[static_cast<size_t>(row)], 0);
        }
        return absl::OkStatus();
      }));
    }
    std::vector<Row> expected = ReadSteps(one, (examples + 15) / 16, examples);
    std::ranges::sort(all);
    std::ranges::sort(expected);
    EXPECT_EQ(all, expected);
  }
}

// Rank r has the r-th rows of the batch of one rank, also after a change of the number of ranks.
TEST(LoaderTest, RanksDivideEachBatch) {
  LoaderOptions options = {.batch = 6, .last = LastBatch::kDrop, .seed = 2};
  ASSERT_OK_AND_ASSIGN(Loader whole, Loader::Create(Random(20), options));
  ReadSteps(whole, 1);
  const std::string position = whole.Save();
  const std::vector<Row> rows = ReadSteps(whole, 1);
  options.rows = {.rank = 1, .ranks = 3};
  ASSERT_OK_AND_ASSIGN(Loader part, Loader::Create(Random(20), options));
  ASSERT_OK(part.Load(position));
  EXPECT_EQ(ReadSteps(part, 1), std::vector<Row>(rows.begin() + 2, rows.begin() + 4));
}

TEST(LoaderTest, BatchMapsSeeWholeBatches) {
  const auto subtract_first = [](std::vector<HostTensor> tensors, int64_t examples,
                                 SplitMix& bits) -> absl::StatusOr<std::vector<HostTensor>> {
    EXPECT_EQ(examples, 5);
    const int32_t shift = static_cast<int32_t>(bits.Below(100));
    for (int32_t& value : *tensors[0].MutableSpan<int32_t>()) value += 1000 * shift;
    return tensors;
  };
  LoaderOptions options = {
      .batch = 5, .order = Sequential(), .batch_maps = {subtract_first}, .last = LastBatch::kDrop};
  const std::vector<Row> rows = ReadSteps(options, 2, 10);
  const int64_t first = rows[0].example / 1000, second = rows[5].example / 1000;
  EXPECT_NE(first, second);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(rows[i].example, static_cast<int64_t>(i) + 1000 * (i < 5 ? first : second));
  }
  options.batch_maps = {
      [](std::vector<HostTensor>, int64_t, SplitMix&) { return std::vector<HostTensor>(); }};
  EXPECT_ERROR(Loader::Create(Random(10), options)->Next(), StatusCode::kInvalidArgument,
               "a batch map gave 0 tensors, but there are 2 names");
  options.batch_maps = {[](std::vector<HostTensor> tensors, int64_t, SplitMix&) {
    tensors[0] = Tensor<int32_t>({4}, {1, 2, 3, 4});
    return tensors;
  }};
  EXPECT_ERROR(Loader::Create(Random(10), options)->Next(), StatusCode::kInvalidArgument,
               "a batch map gave i32[4] for a batch of 5 rows");
}

// Fails for the examples 20 and 22, which are in one batch of five, after good batches.
TEST(LoaderTest, ErrorsNameTheExampleAndStay) {
  const auto fail = [](Example e, SplitMix&) -> absl::StatusOr<Example> {
    const int32_t i = Values<int32_t>(e.fields[0])[0];
    if (i == 22) return absl::DataLossError("photos/22.jpg: cut short");
    if (i == 20) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (i == 20) return absl::NotFoundError("photos/20.jpg: no such file");
    return e;
  };
  for (const int workers : {0, 1, 4}) {
    const LoaderOptions options = {.batch = 5, .order = Sequential(), .workers = workers, .ahead = 3};
    ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(Random(53).Map(fail), options));
    ReadSteps(loader, 4);
    const std::string position = loader.Save();
    for (int i = 0; i < 2; ++i) {
      EXPECT_ERROR(loader.Next(), StatusCode::kNotFound,
                   "example 20, for row 0 of batch 4 of epoch 0: photos/20.jpg: no such file");
      EXPECT_EQ(loader.Save(), position);
    }
    ASSERT_OK(loader.Load("epoch=0 batch=5 seed=0 num_examples=53 batch_size=5 order=sequential last=keep"));
    EXPECT_EQ(ReadSteps(loader, 1)[0].example, 25);
  }
}

TEST(LoaderTest, ExceptionsAndErrorsOfTheCollateArrive) {
  const auto throwing = [](Example, SplitMix&) -> absl::StatusOr<Example> {
    throw std::runtime_error("oops");
  };
  EXPECT_ERROR(Loader::Create(Random(5).Map(throwing), {.batch = 2})->Next(), StatusCode::kInternal,
               "the set threw: oops");
  const auto odd = [](Example, SplitMix&) -> absl::StatusOr<Example> { throw 7; };
  EXPECT_ERROR(Loader::Create(Random(5).Map(odd), {.batch = 2})->Next(), StatusCode::kInternal,
               "threw something that is no std::exception");
  const Collate failing = {.join = [](const Rows&) -> absl::StatusOr<std::vector<HostTensor>> {
    return absl::InvalidArgumentError("cannot join");
  }};
  EXPECT_ERROR(Loader::Create(Random(5), {.batch = 2, .collate = failing})->Next(),
               StatusCode::kInvalidArgument, "batch 0 of epoch 0: cannot join");
}

TEST(LoaderTest, ErrorsOfBodiesEndTheLoop) {
  ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(Random(53), {.batch = 8}));
  int calls = 0;
  const auto body = [&](const Batch&) {
    return ++calls == 3 ? absl::AbortedError("enough") : absl::OkStatus();
  };
  EXPECT_ERROR(loader.Epoch(body), StatusCode::kAborted, "enough");
  EXPECT_EQ(loader.batches_read(), 3);
  ASSERT_OK(loader.Epoch(body));  // The rest of the epoch.
  EXPECT_EQ(calls, 7);
}

TEST(LoaderTest, OrdersThatFail) {
  const auto with = [](Order order) {
    return Loader::Create(Random(5), {.batch = 2, .order = std::move(order)});
  };
  const auto fixed = [](std::vector<int64_t> indices) {
    return Order{"mine", [indices](uint64_t, int64_t, int64_t) { return indices; }};
  };
  EXPECT_ERROR(with(fixed({0, 5})), StatusCode::kInvalidArgument,
               "the order 'mine' has the index 5 in epoch 0, but the set has 5 examples");
  EXPECT_ERROR(with(fixed({})), StatusCode::kInvalidArgument, "the order 'mine' has no index in epoch 0");
  EXPECT_ERROR(with({"my order", fixed({0}).indices}), StatusCode::kInvalidArgument, "a word without spaces");
  EXPECT_ERROR(with({"mine", nullptr}), StatusCode::kInvalidArgument,
               "the order of a loader has no function");
  EXPECT_ERROR(with(Weighted({1})), StatusCode::kInvalidArgument, "1 weights for a set of 5");
  ASSERT_OK_AND_ASSIGN(Loader shrinking, with({"mine", [](uint64_t, int64_t epoch, int64_t) {
                                                 return std::vector<int64_t>(static_cast<size_t>(4 - epoch),
                                                                             1);
                                               }}));
  ReadSteps(shrinking, 2);
  EXPECT_ERROR(shrinking.Next(), StatusCode::kInvalidArgument, "has 4 indices in epoch 0, and 3 in epoch 1");
}

TEST(LoaderTest, BadOptions) {
  const auto create = [](LoaderOptions options) { return Loader::Create(Random(10), std::move(options)); };
  EXPECT_ERROR(create({.batch = 0}), StatusCode::kInvalidArgument, "batch is 0, it must be at least 1");
  EXPECT_ERROR(create({.workers = -1}), StatusCode::kInvalidArgument, "workers is -1");
  EXPECT_ERROR(create({.ahead = -1}), StatusCode::kInvalidArgument, "ahead is -1");
  EXPECT_ERROR(create({.max_epochs = -1}), StatusCode::kInvalidArgument, "max_epochs is -1");
  EXPECT_ERROR(create({.collate = {}}), StatusCode::kInvalidArgument,
               "the collate of a loader has no function");
  EXPECT_ERROR(create({.batch = 11, .last = LastBatch::kDrop}), StatusCode::kInvalidArgument,
               "LastBatch::kDrop leaves no batch: there are 10 examples for a batch of 11");
  EXPECT_ERROR(create({.rows = {.rank = 2, .ranks = 2}}), StatusCode::kInvalidArgument,
               "no rank 2 of 2 ranks");
  EXPECT_ERROR(create({.batch = 5, .rows = {.ranks = 2}}), StatusCode::kInvalidArgument,
               "a batch of 5 rows does not divide evenly among 2 ranks");
  EXPECT_ERROR(
      create({.batch = 3 * 3, .rows = {.ranks = 3}}), StatusCode::kInvalidArgument,
      "the last batch of an epoch has 1 rows, which do not divide evenly among 3 ranks; use LastBatch::kPad");
  EXPECT_ERROR(Loader::Create(*Subset(Random(3), {}), {}), StatusCode::kInvalidArgument,
               "the set of a loader has no examples");
}

// With workers ahead, the program waits for the first batch alone; without, for each.
TEST(LoaderTest, WaitsOnlyForBatchesThatAreNotReady) {
  const Dataset slow = Random(40).Map([](Example e, SplitMix&) -> absl::StatusOr<Example> {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return e;
  });
  const auto waited = [&](int workers) {
    Loader loader = Loader::Create(slow, {.batch = 4, .workers = workers}).value();
    const absl::Status status = loader.Epoch([](const Batch&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok());
    return loader.waited_seconds();
  };
  const double alone = waited(0);
  EXPECT_GE(alone, 40 * 0.002);
  EXPECT_LT(waited(2), alone / 2);
}

// Destroys loaders while workers read, join, wait, or have just started; moves them meanwhile.
TEST(LoaderTest, StopsAtAnyMoment) {
  for (int i = 0; i < 60; ++i) {
    ASSERT_OK_AND_ASSIGN(Loader loader,
                         Loader::Create(Random(100), {.batch = 7, .workers = 1 + i % 4, .ahead = i % 3}));
    for (int taken = 0; taken < i % 5; ++taken) ASSERT_OK(loader.Next());
    Loader moved = std::move(loader);
    if (i % 2 == 0) ASSERT_OK(moved.Next());
  }
}

TEST(LoaderTest, NamesOfTheBatch) {
  ASSERT_OK_AND_ASSIGN(const Loader plain, Loader::Create(Random(5), {}));
  EXPECT_THAT(plain.names(), ElementsAre("i", "random"));
  ASSERT_OK_AND_ASSIGN(const Loader padded, Loader::Create(Random(5), {.collate = Pad({"random"})}));
  EXPECT_THAT(padded.names(), ElementsAre("i", "random", "random_lengths"));
}

TEST(LoaderTest, BatchesAreInTheGivenMemory) {
  ASSERT_OK_AND_ASSIGN(CachingAllocator * memory, ProcessAllocator());
  for (const Collate& collate : {Stack(), Pad({"random"})}) {
    ASSERT_OK_AND_ASSIGN(Loader loader,
                         Loader::Create(Random(6), {.batch = 3, .collate = collate, .memory = memory}));
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader.Next());
    EXPECT_EQ(batch.tensors[0].shape()[0], 3);
    EXPECT_EQ(Values<float>(batch.weights), std::vector<float>(3, 1));
  }
}

TEST(LoaderTest, InputsOfAFunction) {
  ASSERT_OK_AND_ASSIGN(Loader loader, Loader::Create(Random(5), {.batch = 2}));
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader.Next());
  const std::vector<Argument> inputs = loader.Inputs(batch, "weights");
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[1].name(), "random");
  EXPECT_EQ(inputs[1].tensor(), &batch.tensors[1]);
  EXPECT_EQ(inputs[2].name(), "weights");
  EXPECT_EQ(inputs[2].tensor(), &batch.weights);
  EXPECT_EQ(loader.Inputs(batch).size(), 2u);
}

}  // namespace
}  // namespace sinter::data
