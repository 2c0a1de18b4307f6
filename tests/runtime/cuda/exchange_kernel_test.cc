// The kernels of exchanges alone, on one GPU: a rank without others, whose moves and sums stay in its memory.
// compute-sanitizer can watch these, but no exchange: it runs kernels one by one, and those of two GPUs wait
// for each other.
#include "sinter/kernels/cuda/exchange/exchange_kernel.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/host/half.h"
#include "sinter/tests/runtime/cuda/faulty_calls.h"

namespace sinter {
namespace {

using kernels::ExchangeParameters;
using kernels::ShareParameters;
using kernels::SumParameters;
using kernels::SumType;

// Memory of the GPU that begins as zeros.
class Bytes {
 public:
  Bytes(size_t count, cudaStream_t stream) : count_(count), stream_(stream) {
    EXPECT_EQ(cudaMalloc(&data_, count), cudaSuccess);
    EXPECT_EQ(cudaMemset(data_, 0, count), cudaSuccess);
  }
  Bytes(const std::vector<unsigned char>& values, cudaStream_t stream) : Bytes(values.size(), stream) {
    EXPECT_EQ(cudaMemcpyAsync(data_, values.data(), count_, cudaMemcpyHostToDevice, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  ~Bytes() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  unsigned char* data() const { return static_cast<unsigned char*>(data_); }
  std::vector<unsigned char> Read() const {
    std::vector<unsigned char> values(count_);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), data_, count_, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return values;
  }

 private:
  const size_t count_;
  cudaStream_t const stream_;
  void* data_ = nullptr;
};

class ExchangeKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (NumCudaDevices() == 0) GTEST_SKIP() << "there is no GPU";
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(
        cudaLibraryLoadData(&library_, kernels::ExchangePtx(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        cudaSuccess);
    stream_ = MakeCudaStream().value();
  }
  void TearDown() override {
    if (library_ != nullptr) EXPECT_EQ(cudaLibraryUnload(library_), cudaSuccess);
  }

  template <typename Parameters>
  void Start(const char* name, Parameters parameters, uint32_t blocks, cudaStream_t stream) {
    cudaKernel_t kernel = nullptr;
    ASSERT_EQ(cudaLibraryGetKernel(&kernel, library_, name), cudaSuccess);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(kernels::kExchangeThreads);
    config.stream = stream;
    void* arguments[] = {&parameters};
    ASSERT_EQ(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments), cudaSuccess);
  }
  template <typename Parameters>
  void Run(const char* name, const Parameters& parameters, uint32_t blocks) {
    Start(name, parameters, blocks, stream_.get());
    ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
  }

  cudaLibrary_t library_ = nullptr;
  CudaStream stream_;
};

std::vector<unsigned char> Pattern(size_t count, unsigned seed) {
  std::vector<unsigned char> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<unsigned char>((i * 31 + seed) * (i + 7) % 251);
  return values;
}

// Moves of all alignments. What lies around a target stays as it is.
TEST_F(ExchangeKernelTest, Moves) {
  for (const uint32_t blocks : {1u, 3u, 8u}) {
    for (const size_t skew : {size_t{0}, size_t{4}, size_t{16}, size_t{1}}) {
      std::vector<std::unique_ptr<Bytes>> from, to;
      std::vector<std::vector<unsigned char>> expected;
      ExchangeParameters p = {};
      p.meets_before = p.meets_after = 1;
      for (const size_t bytes : {size_t{1}, size_t{16}, size_t{4 << 10}, size_t{300'007}, size_t{262'144}}) {
        const std::vector<unsigned char> values = Pattern(skew + bytes, p.moves);
        from.push_back(std::make_unique<Bytes>(values, stream_.get()));
        to.push_back(std::make_unique<Bytes>(skew + bytes + 32, stream_.get()));
        expected.emplace_back(skew + bytes + 32, 0);
        std::copy_n(values.data() + skew, bytes, expected.back().data() + skew);
        p.move[p.moves++] = {from.back()->data() + skew, to.back()->data() + skew, bytes};
      }
      Run(kernels::kExchangeKernel, p, blocks);
      for (size_t i = 0; i < to.size(); ++i) {
        EXPECT_TRUE(to[i]->Read() == expected[i]) << blocks << " blocks, skew " << skew << ", move " << i;
      }
    }
  }
}

size_t BytesOf(SumType type) { return type == SumType::kF32 ? 4 : 2; }

void Write(SumType type, float value, unsigned char* to) {
  const uint16_t low =
      type == SumType::kBf16 ? BFloat16::FromFloat(value).bits : Float16::FromFloat(value).bits;
  if (type == SumType::kF32) {
    std::memcpy(to, &value, sizeof(value));
  } else {
    std::memcpy(to, &low, sizeof(low));
  }
}

// Sums of small numbers are exact in all types. `elements`: of each tensor.
struct SumCase {
  SumType type;
  std::vector<size_t> elements;
  uint32_t blocks;
  bool has_units_of_16, meets_in_rounds, is_in_place;
};

TEST_F(ExchangeKernelTest, Sums) {
  constexpr uint32_t kTerms = 3;
  std::vector<SumCase> cases;
  for (const SumType type : {SumType::kF32, SumType::kBf16, SumType::kF16}) {
    if (type != SumType::kF32 && UsesSoftwareGpu()) continue;
    for (const bool in_rounds : {false, true}) {
      cases.push_back({type, {8, 1 << 15, 64}, 2, true, in_rounds, in_rounds});
      cases.push_back({type, {1, 1 << 14, 77}, 3, false, in_rounds, in_rounds});
      cases.push_back({type, {1 << 19}, kernels::kMostExchangeBlocks, true, in_rounds, false});
    }
  }
  for (const SumCase& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.type) * 10 + c.has_units_of_16 * 2 + c.meets_in_rounds);
    const size_t size = BytesOf(c.type), unit = c.has_units_of_16 ? 16 / size : 1;
    SumParameters p = {};
    p.terms = kTerms, p.type = c.type, p.divisor = 2;
    p.has_units_of_16 = c.has_units_of_16, p.meets_in_rounds = c.meets_in_rounds;
    std::vector<std::unique_ptr<Bytes>> memory, results;
    std::vector<std::vector<unsigned char>> expected;
    size_t units = 0;
    for (const size_t elements : c.elements) {
      kernels::ExchangeSum& sum = p.sum[p.sums++];
      const size_t bytes = elements * size;
      std::vector<float> sums(elements);
      for (uint32_t rank = 0; rank < kTerms; ++rank) {
        std::vector<unsigned char> values(bytes);
        for (size_t i = 0; i < elements; ++i) {
          const auto term = static_cast<float>((i + rank * 5 + p.sums) % 16);
          sums[i] += term;
          Write(c.type, term, values.data() + i * size);
        }
        memory.push_back(std::make_unique<Bytes>(values, stream_.get()));
        sum.term[rank] = memory.back()->data();
      }
      results.push_back(std::make_unique<Bytes>(bytes + 16, stream_.get()));
      expected.emplace_back(bytes + 16, 0);
      for (size_t i = 0; i < elements; ++i) Write(c.type, sums[i] / 2, expected.back().data() + i * size);
      sum.to = c.is_in_place ? memory.back()->data() : results.back()->data();
      if (c.is_in_place) {
        expected.back().resize(bytes);
        results.back() = std::move(memory.back());
      }
      sum.units = static_cast<uint32_t>(elements / unit);
      units += sum.units;
    }
    const size_t of_round = size_t{c.blocks} * kernels::kSumUnits * kernels::kExchangeThreads;
    p.rounds = static_cast<uint32_t>((units + of_round - 1) / of_round);
    Run(kernels::kSumKernel, p, c.blocks);
    for (size_t i = 0; i < results.size(); ++i) EXPECT_TRUE(results[i]->Read() == expected[i]) << i;
  }
}

struct ShareCase {
  SumType type;
  std::vector<size_t> elements;
  uint32_t ranks, blocks;
  bool has_units_of_1, is_in_place;

  size_t Units() const {
    const size_t unit = has_units_of_1 ? 1 : 16 / BytesOf(type);
    size_t units = 0;
    for (const size_t count : elements) units += (count + unit - 1) / unit;
    return units;
  }
  uint32_t Rounds() const {
    const size_t of_round = size_t{ranks} * blocks * kernels::kSumUnits * kernels::kExchangeThreads;
    return static_cast<uint32_t>((Units() + of_round - 1) / of_round);
  }
};

std::vector<ShareCase> ShareCases() {
  std::vector<ShareCase> cases;
  for (const SumType type : {SumType::kF32, SumType::kBf16, SumType::kF16}) {
    if (type != SumType::kF32 && UsesSoftwareGpu()) continue;
    cases.push_back({type, {1, 768, 30'001, 5}, 3, 2, false, false});
    cases.push_back({type, {7, 1 << 14, 33}, 2, 3, true, true});
    cases.push_back({type, {1 << 19, 9}, 4, 2, false, true});  // More rounds than buffers.
  }
  return cases;
}

// Small numbers, whose sums are exact in all types.
float Term(size_t element, size_t tensor, uint32_t rank) {
  return static_cast<float>((element + rank * 5 + tensor) % 16);
}

// The ranks of a sum in shares, all on one GPU.
class ShareRanks {
 public:
  explicit ShareRanks(const ShareCase& c) : c_(c) {
    const size_t workspace = size_t{c.blocks} * kernels::kShareBuffers * (c.ranks - 1) * kernels::kShareBytes;
    for (uint32_t rank = 0; rank < c.ranks; ++rank) {
      Rank& made = ranks_.emplace_back();
      made.stream = MakeCudaStream().value();
      made.workspace = std::make_unique<Bytes>(workspace, made.stream.get());
      made.numbers = std::make_unique<Bytes>(2 * c.ranks * kNumbers * sizeof(uint32_t), made.stream.get());
      for (size_t t = 0; t < c.elements.size(); ++t) {
        std::vector<unsigned char> values(c.elements[t] * BytesOf(c.type));
        for (size_t i = 0; i < c.elements[t]; ++i) {
          Write(c.type, Term(i, t, rank), values.data() + i * BytesOf(c.type));
        }
        made.terms.push_back(std::make_unique<Bytes>(values, made.stream.get()));
        made.results.push_back(std::make_unique<Bytes>(values.size(), made.stream.get()));
      }
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  // Without `meets`, the rank waits for no other.
  ShareParameters Parameters(uint32_t rank, bool meets) const {
    ShareParameters p = {};
    p.ranks = c_.ranks, p.rank = rank, p.rounds = c_.Rounds(), p.type = c_.type, p.divisor = 2;
    p.has_units_of_1 = c_.has_units_of_1 ? 1 : 0;
    for (uint32_t other = 0; other < c_.ranks; ++other) {
      p.workspace[other] = ranks_[other].workspace->data();
      if (other == rank || !meets) continue;
      p.peer[p.peers++] = {.there = Numbers(other, rank),
                           .here = Numbers(rank, other),
                           .count = Numbers(rank, c_.ranks + other)};
    }
    for (size_t t = 0; t < c_.elements.size(); ++t) {
      kernels::SharedTensor& tensor = p.tensor[p.tensors++];
      tensor.from = ranks_[rank].terms[t]->data();
      tensor.elements = static_cast<uint32_t>(c_.elements[t]);
      for (uint32_t to = 0; to < c_.ranks; ++to) tensor.to[to] = Result(to, t).data();
    }
    return p;
  }
  const Bytes& Result(uint32_t rank, size_t tensor) const {
    return *(c_.is_in_place ? ranks_[rank].terms : ranks_[rank].results)[tensor];
  }
  const Bytes& WorkspaceOf(uint32_t rank) const { return *ranks_[rank].workspace; }
  cudaStream_t StreamOf(uint32_t rank) const { return ranks_[rank].stream.get(); }
  // `times`: how often the sums have replaced the terms.
  std::vector<unsigned char> Expected(size_t tensor, int times) const {
    std::vector<unsigned char> values(c_.elements[tensor] * BytesOf(c_.type));
    for (size_t i = 0; i < c_.elements[tensor]; ++i) {
      float sum = 0;
      for (uint32_t rank = 0; rank < c_.ranks; ++rank) sum += Term(i, tensor, rank);
      sum /= 2;
      if (c_.is_in_place && times > 1) sum *= static_cast<float>(c_.ranks) / 2;
      Write(c_.type, sum, values.data() + i * BytesOf(c_.type));
    }
    return values;
  }

 private:
  static constexpr size_t kNumbers = size_t{2} * kernels::kMostShareBlocks;
  struct Rank {
    CudaStream stream;
    std::unique_ptr<Bytes> workspace, numbers;
    std::vector<std::unique_ptr<Bytes>> terms, results;
  };

  uint32_t* Numbers(uint32_t rank, uint32_t row) const {
    return reinterpret_cast<uint32_t*>(ranks_[rank].numbers->data()) + row * kNumbers;
  }

  const ShareCase c_;
  std::vector<Rank> ranks_;
};

// The kernels of all ranks run side by side and wait for each other.
TEST_F(ExchangeKernelTest, SharesOfAllRanks) {
  for (const ShareCase& c : ShareCases()) {
    SCOPED_TRACE(static_cast<int>(c.type) * 10 + static_cast<int>(c.ranks));
    const ShareRanks ranks(c);
    for (int times = 1; times <= 2; ++times) {
      for (uint32_t rank = 0; rank < c.ranks; ++rank) {
        Start(kernels::kShareKernel, ranks.Parameters(rank, /*meets=*/true), c.blocks, ranks.StreamOf(rank));
      }
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      for (uint32_t rank = 0; rank < c.ranks; ++rank) {
        for (size_t t = 0; t < c.elements.size(); ++t) {
          EXPECT_TRUE(ranks.Result(rank, t).Read() == ranks.Expected(t, times)) << rank << ", " << t;
        }
      }
    }
  }
}

// A rank that waits for no other, as a sanitizer can watch it. It adds the zeros of its workspace.
TEST_F(ExchangeKernelTest, TheShareOfOneRank) {
  for (const ShareCase& c : ShareCases()) {
    SCOPED_TRACE(static_cast<int>(c.type) * 10 + static_cast<int>(c.ranks));
    const ShareRanks ranks(c);
    const uint32_t rank = 1;
    Start(kernels::kShareKernel, ranks.Parameters(rank, /*meets=*/false), c.blocks, ranks.StreamOf(rank));
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    // Half of its own term, in its share alone; in the other shares of all, what was there.
    size_t unit = 0, changed = 0;
    const size_t of_unit = c.has_units_of_1 ? 1 : 16 / BytesOf(c.type);
    for (size_t t = 0; t < c.elements.size(); ++t) {
      const std::vector<unsigned char> result = ranks.Result(0, t).Read();
      std::vector<unsigned char> expected(result.size());
      for (size_t i = 0; i < c.elements[t]; ++i) {
        const size_t chunk = (unit + i / of_unit) / (kernels::kSumUnits * kernels::kExchangeThreads);
        const bool is_own = chunk % c.ranks == rank;
        changed += is_own ? 1 : 0;
        const float other = c.is_in_place ? Term(i, t, 0) : 0;
        Write(c.type, is_own ? Term(i, t, rank) / 2 : other, expected.data() + i * BytesOf(c.type));
      }
      EXPECT_TRUE(result == expected) << t;
      unit += (c.elements[t] + of_unit - 1) / of_unit;
    }
    EXPECT_GT(changed, 0u);
  }
}

}  // namespace
}  // namespace sinter
