// Writes the program of some ranks of a plan with a mesh, as rank_program.h describes it.
//
//   RankExpansion expansion(plan, /*first=*/2, /*count=*/2);       // Ranks 2 and 3.
//   if (expansion.MostBytes() > limit) ...
//   flatbuffers::DetachedBuffer program = expansion.Build();
//
// Tables that are equal for all ranks are written once. The time and the size grow with the local ranks; of
// all other ranks there are only their devices, and their numbers in the groups of exchanges.
#ifndef SINTER_RUNTIME_WORLD_RANK_EXPANSION_H_
#define SINTER_RUNTIME_WORLD_RANK_EXPANSION_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/plan/mesh.h"

namespace sinter {

class RankExpansion {
 public:
  // The plan must have passed plan_verifier.h and must outlive the expansion.
  RankExpansion(const fb::Plan& plan, uint32_t first, uint32_t count);

  // More bytes than Build writes.
  uint64_t MostBytes() const;
  flatbuffers::DetachedBuffer Build();

 private:
  template <typename T>
  using Offset = flatbuffers::Offset<T>;
  template <typename T>
  using VectorOf = Offset<flatbuffers::Vector<T>>;
  template <typename T>
  using Tables = std::vector<Offset<T>>;
  using Variants = std::vector<const fb::Function*>;

  // The tables of a file's function that all of its ranks share.
  struct SharedTables {
    Tables<fb::TensorType> types;  // By buffer.
    struct Step {
      Offset<flatbuffers::String> name = 0;
      Offset<void> body = 0;  // Null for collectives.
      VectorOf<uint32_t> locations = 0;
      VectorOf<int64_t> elements = 0, parts = 0;  // For collectives.
      VectorOf<uint32_t> axes = 0;
    };
    std::vector<Step> steps;
    std::vector<uint32_t> exchanges;  // The steps over axes.
  };
  // A local rank's part of one function.
  struct LocalRank {
    uint32_t rank = 0;
    const fb::Function* function = nullptr;
    const SharedTables* shared = nullptr;
    uint32_t first_buffer = 0;
    uint32_t next_step = 0;
  };

  uint32_t DeviceOf(uint32_t rank, uint32_t device) const { return rank * cell_ + device; }
  uint64_t BytesOfFunction(const fb::Function& function, uint64_t ranks) const;

  Tables<fb::SourceLocation> Locations();
  Tables<fb::DeviceName> Devices();
  Tables<fb::GpuKernel> GpuKernels();
  Tables<fb::Variable> Variables();
  Offset<fb::Function> Function(const Variants& variants);

  SharedTables Share(const fb::Function& function);
  SharedTables::Step ShareStep(const fb::Step& step);
  void AddBuffers(LocalRank& local, Tables<fb::Buffer>& buffers);
  Offset<fb::Port> Port(const std::vector<LocalRank>& ranks, const fb::Port& port, bool is_output,
                        uint32_t index);
  Tables<fb::Step> Steps(std::vector<LocalRank>& ranks);
  void AddStepsUpTo(LocalRank& local, uint32_t end, Tables<fb::Step>& steps);
  void AddExchange(std::vector<LocalRank>& ranks, size_t exchange, Tables<fb::Step>& steps);
  Offset<fb::Step> Step(const LocalRank& local, uint32_t index, fb::StepBody type, Offset<void> body);
  Offset<void> GroupBody(const LocalRank& local, uint32_t index);
  Offset<void> ExchangeBody(const LocalRank& local, uint32_t index);
  VectorOf<uint32_t> DevicesOfGroup(uint32_t rank, AxisMask axes, uint32_t device);
  VectorOf<uint64_t> MoreArenas(const std::vector<LocalRank>& ranks, uint64_t* first_arena);

  const fb::Plan& plan_;
  const RankMesh mesh_;
  const uint32_t first_, count_;
  const uint32_t cell_;  // Devices of a rank.
  const uint32_t num_variables_;
  flatbuffers::FlatBufferBuilder builder_;
  uint32_t channel_ = 0;  // The next channel of the current function.
  // Channels of the current group-form collectives, by rank and file channel.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> channels_;
  // Groups that are written, by first rank, axes and device of the cell.
  std::map<std::tuple<uint32_t, AxisMask, uint32_t>, VectorOf<uint32_t>> groups_;
  // Lists of equal parts that are written, by number and size.
  std::map<std::pair<uint32_t, int64_t>, VectorOf<int64_t>> equal_parts_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_WORLD_RANK_EXPANSION_H_
