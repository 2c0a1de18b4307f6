#include "sinter/tools/predict/measured_costs.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/ir/cost/builtin_costs.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tools/handmade_plan.h"
#include "sinter/tools/predict/step_prices.h"

namespace sinter::tools {
namespace {

using cost::Arithmetic;

constexpr int kTimings = 5;
constexpr double kMebi = 1 << 20;

ContractionType TypeOf(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kF64:
      return {DType::kF64};
    case Arithmetic::kF32:
      return {DType::kF32};
    case Arithmetic::kTf32:
      return {DType::kF32, fb::MathMode::Tf32};
    case Arithmetic::kBf16x3:
      return {DType::kF32, fb::MathMode::Bf16x3};
    case Arithmetic::kBf16:
      return {DType::kBf16};
    case Arithmetic::kF16:
      return {DType::kF16};
  }
  return {};
}

std::vector<MatmulSizes> Matmuls(const ContractionType& type, bool is_host, bool quick) {
  const auto with = [&type](std::vector<MatmulSizes> all) {
    for (MatmulSizes& sizes : all) sizes.type = type;
    return all;
  };
  if (quick) return with({{.m = 32, .n = 32, .k = 32}, {.m = 64, .n = 64, .k = 64}});
  std::vector<MatmulSizes> sizes = {
      {.m = 64, .n = 64, .k = 64},
      {.m = 256, .n = 256, .k = 256},
      {.m = 1024, .n = 1024, .k = 1024},
      {.m = 256, .n = 128, .k = 800},
      {.m = 256, .n = 10, .k = 128},
      {.m = 128, .n = 10, .k = 256, .transpose_a = true},
      {.m = 256, .n = 800, .k = 128, .transpose_b = true},
      {.m = 800, .n = 128, .k = 256, .transpose_a = true},
      {.m = 100, .n = 2000, .k = 2000},
      {.m = 100, .n = 2000, .k = 2000, .transpose_b = true},
      {.m = 2000, .n = 2000, .k = 100, .transpose_a = true},
      {.m = 4096, .n = 384, .k = 128},
      {.m = 4096, .n = 128, .k = 512, .transpose_b = true},
      {.m = 128, .n = 512, .k = 4096, .transpose_a = true},
      {.batch = 128, .m = 128, .n = 128, .k = 32, .transpose_b = true},
      {.batch = 128, .m = 128, .n = 32, .k = 128},
      {.batch = 128, .m = 128, .n = 32, .k = 128, .transpose_a = true},
  };
  if (!is_host) {
    // A grid for shapes that no model above has: libraries choose other kernels for each.
    constexpr int64_t kGrid[] = {64, 512, 4096};
    for (const int64_t m : kGrid) {
      for (const int64_t n : kGrid) {
        for (const int64_t k : kGrid) {
          if (m * n * k > int64_t{64} * 4096 * 4096) continue;
          sizes.push_back({.m = m, .n = n, .k = k});
          sizes.push_back({.m = m, .n = n, .k = k, .transpose_b = true});
          sizes.push_back({.m = m, .n = n, .k = k, .transpose_a = true});
        }
      }
    }
    const std::vector<MatmulSizes> large = {
        {.m = 4096, .n = 4096, .k = 4096},
        {.m = 32768, .n = 2304, .k = 768},
        {.m = 32768, .n = 768, .k = 768},
        {.m = 32768, .n = 3072, .k = 768},
        {.m = 32768, .n = 768, .k = 3072},
        {.m = 32768, .n = 3072, .k = 768, .transpose_b = true},
        {.m = 32768, .n = 768, .k = 2304, .transpose_b = true},
        {.m = 768, .n = 2304, .k = 32768, .transpose_a = true},
        {.m = 768, .n = 768, .k = 32768, .transpose_a = true},
        {.m = 3072, .n = 768, .k = 32768, .transpose_a = true},
        {.m = 5504, .n = 50304, .k = 768, .transpose_b = true},
        {.m = 5504, .n = 768, .k = 50304},
        {.m = 50304, .n = 768, .k = 5504, .transpose_a = true},
    };
    // In full f32 and f64 such products take tens of milliseconds.
    const bool is_slow =
        type.dtype == DType::kF64 || (type.dtype == DType::kF32 && type.math == fb::MathMode::Ieee);
    sizes.insert(sizes.end(), large.begin(), is_slow ? large.begin() + 1 : large.end());
  }
  return with(sizes);
}

std::vector<ConvSizes> Convolutions(const ContractionType& type, bool is_host, bool quick) {
  std::vector<ConvSizes> sizes;
  // LeNet's, then ResNet-50's; padding is left out.
  const auto layout = is_host ? fb::ImageLayout::Nchw16n : fb::ImageLayout::Nchw;
  if (type.dtype == DType::kF32) {
    sizes = {{.layout = layout,
              .batch = quick ? 16 : 256,
              .in_channels = 1,
              .out_channels = 20,
              .in_size = 28,
              .kernel = 3},
             {.layout = layout,
              .batch = quick ? 16 : 256,
              .in_channels = 20,
              .out_channels = 50,
              .in_size = 13,
              .kernel = 5}};
  }
  if (is_host && type.dtype == DType::kF32 && !quick) {
    const std::vector<ConvSizes> small = {
        {.batch = 4, .in_channels = 64, .out_channels = 64, .in_size = 18, .kernel = 3},
        {.batch = 4, .in_channels = 64, .out_channels = 256, .in_size = 16, .kernel = 1},
        {.batch = 4, .in_channels = 256, .out_channels = 64, .in_size = 16, .kernel = 1},
        {.batch = 4, .in_channels = 128, .out_channels = 128, .in_size = 10, .kernel = 3},
        {.batch = 4, .in_channels = 256, .out_channels = 256, .in_size = 6, .kernel = 3},
        {.batch = 4, .in_channels = 256, .out_channels = 1024, .in_size = 4, .kernel = 1},
        {.batch = 4, .in_channels = 512, .out_channels = 512, .in_size = 4, .kernel = 3},
        {.batch = 4, .in_channels = 2048, .out_channels = 512, .in_size = 2, .kernel = 1}};
    sizes.insert(sizes.end(), small.begin(), small.end());
  }
  if (!is_host && type.dtype == DType::kBf16) {
    sizes.clear();
    // A small batch too: it does not fill a GPU in the layers of few pixels.
    for (const int64_t n : {256, 32}) {
      const std::vector<ConvSizes> layers = {
          {.batch = n, .in_channels = 64, .out_channels = 256, .in_size = 56, .kernel = 1},
          {.batch = n, .in_channels = 256, .out_channels = 64, .in_size = 56, .kernel = 1},
          {.batch = n, .in_channels = 64, .out_channels = 64, .in_size = 58, .kernel = 3},
          {.batch = n, .in_channels = 16, .out_channels = 64, .in_size = 115, .kernel = 4},
          {.batch = n, .in_channels = 128, .out_channels = 512, .in_size = 28, .kernel = 1},
          {.batch = n, .in_channels = 128, .out_channels = 128, .in_size = 30, .kernel = 3},
          {.batch = n, .in_channels = 1024, .out_channels = 256, .in_size = 14, .kernel = 1},
          {.batch = n, .in_channels = 256, .out_channels = 256, .in_size = 16, .kernel = 3},
          {.batch = n, .in_channels = 512, .out_channels = 2048, .in_size = 7, .kernel = 1},
          {.batch = n, .in_channels = 512, .out_channels = 512, .in_size = 9, .kernel = 3}};
      sizes.insert(sizes.end(), layers.begin(), layers.end());
    }
  }
  std::vector<ConvSizes> all;
  for (ConvSizes s : sizes) {
    s.type = type;
    for (const fb::ConvKind kind :
         {fb::ConvKind::Forward, fb::ConvKind::InputGrad, fb::ConvKind::WeightGrad}) {
      s.kind = kind;
      all.push_back(s);
    }
  }
  return all;
}

class Measurement {
 public:
  Measurement(const MeasureOptions& options, std::ostream& log)
      : options_(options), log_(log), device_(options.devices[0]), is_host_(device_.is_host()) {}

  absl::StatusOr<cost::CostTable> Run() {
    SINTER_RETURN_IF_ERROR(Describe());
    SINTER_RETURN_IF_ERROR(MeasureCopies());
    SINTER_ASSIGN_OR_RETURN(const std::vector<Arithmetic> types, Types());
    for (const Arithmetic type : types) SINTER_RETURN_IF_ERROR(MeasureContractions(type));
    if (options_.devices.size() > 1) SINTER_RETURN_IF_ERROR(MeasureExchanges());
    TakeBuiltIn();
    return std::move(table_);
  }

 private:
  struct Timed {
    double seconds;  // Time of one step.
    double bytes, flops;
  };

  absl::Status Describe() {
    for (const Device device : options_.devices) {
      SINTER_RETURN_IF_ERROR(CheckDevice(device));
      if (device.kind() == device_.kind()) continue;
      return absl::InvalidArgumentError(absl::StrCat("--device: ", device_.ToString(), " and ",
                                                     device.ToString(),
                                                     " are of two kinds: measure each kind by itself"));
    }
    SINTER_ASSIGN_OR_RETURN(const DeviceInfo info, QueryDevice(device_));
    table_.device = absl::StrCat(info.name, ", ", info.architecture);
    table_.driver = options_.driver;
    table_.nccl = options_.nccl;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Arithmetic>> Types() const {
    if (options_.types.empty()) {
      if (is_host_) return std::vector<Arithmetic>{Arithmetic::kF32, Arithmetic::kF64, Arithmetic::kBf16};
      return std::vector<Arithmetic>{Arithmetic::kBf16, Arithmetic::kTf32, Arithmetic::kF32};
    }
    std::vector<Arithmetic> types;
    for (const std::string& name : options_.types) {
      const std::optional<Arithmetic> type = cost::ArithmeticOf(name);
      const bool is_mode = type == Arithmetic::kTf32 || type == Arithmetic::kBf16x3;
      if (!type.has_value() || (is_host_ && is_mode)) {
        return absl::InvalidArgumentError(absl::StrCat("--types: \"", name,
                                                       "\" is no type; there are f64, f32, ",
                                                       is_host_ ? "" : "tf32, bf16x3, ", "bf16, f16"));
      }
      types.push_back(*type);
    }
    return types;
  }

  // Returns the times of the plan's functions, by name: of one step of one of the devices.
  absl::StatusOr<std::map<std::string, Timed>> Time(const HandmadePlan& plan, uint32_t devices = 1) {
    SINTER_ASSIGN_OR_RETURN(Plan made, plan.Make());
    const Plan kept = made.Share();
    SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(made), {.threads = options_.threads}));
    std::map<std::string, Timed> times;
    for (const fb::Function* function : *kept.table().functions()) {
      const std::string name = function->name()->str();
      SINTER_ASSIGN_OR_RETURN(const double seconds, SecondsOfRun(session, name));
      const fb::Step& step = *function->steps()->Get(0);
      const double steps = static_cast<double>(function->steps()->size()) / devices;
      times[name] = {seconds / steps, step.bytes(), step.flops()};
    }
    return times;
  }

  // The least of some timings on a CPU, which other programs disturb; the median on a GPU.
  absl::StatusOr<double> SecondsOfRun(Session& session, const std::string& name) {
    SINTER_ASSIGN_OR_RETURN(BoundFunction function, session.Bind(name));
    const auto burst = [&](int64_t runs) -> absl::StatusOr<double> {
      const auto begin = std::chrono::steady_clock::now();
      for (int64_t i = 0; i < runs; ++i) SINTER_RETURN_IF_ERROR(function.Run());
      SINTER_RETURN_IF_ERROR(session.Synchronize());
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    // The second run of a GPU is captured.
    SINTER_RETURN_IF_ERROR(burst(2).status());
    SINTER_ASSIGN_OR_RETURN(const double first, burst(1));
    const auto runs =
        static_cast<int64_t>(std::clamp(options_.seconds_each / std::max(first, 1e-7), 1.0, 1e6));
    std::vector<double> times;
    for (int i = 0; i < kTimings; ++i) {
      SINTER_ASSIGN_OR_RETURN(const double seconds, burst(runs));
      times.push_back(seconds / static_cast<double>(runs));
    }
    std::ranges::sort(times);
    return is_host_ ? times.front() : times[kTimings / 2];
  }

  absl::Status MeasureCopies() {
    log_ << "copies\n";
    HandmadePlan plan({device_}, "sinter measure", "copies");
    constexpr int kSteps = 16;
    // Above the size from which a GPU copies by a kernel.
    const int64_t least = is_host_ ? 1 << 10 : 1 << 14;
    const int64_t most = options_.quick ? least << 4 : int64_t{1} << (is_host_ ? 24 : 27);
    for (int64_t floats = least; floats <= most; floats <<= 2)
      plan.AddCopy(absl::StrCat("c", floats), floats, kSteps);
    SINTER_ASSIGN_OR_RETURN(const auto times, Time(plan));
    // A chain of the smallest copies shows what a launch takes: built-in tables say how it divides. On a GPU
    // a generated kernel takes longer than such a copy.
    const cost::LaunchCosts& known = cost::FindBuiltinCosts(is_host_ ? "cpu" : "h200")->launch;
    const double smallest = times.at(absl::StrCat("c", least)).seconds;
    const double launch = is_host_ ? smallest : std::max(smallest, known.gap + known.kernel);
    const double part = known.gap / (known.gap + known.kernel);
    table_.launch = {part * launch, (1 - part) * launch, known.thread_bandwidth, 1};
    if (is_host_) table_.launch.kernel = std::min(smallest, 1e-6);
    for (int64_t floats = least << 2; floats <= most; floats <<= 2) {
      const Timed& t = times.at(absl::StrCat("c", floats));
      const double seconds = std::max(t.seconds - smallest, t.seconds / 10);
      table_.bandwidth.push_back({t.bytes, t.bytes / seconds});
    }
    return absl::OkStatus();
  }

  void Add(cost::ContractionSample sample, const Timed& time) {
    sample.flops = time.flops;
    sample.bytes = time.bytes;
    // A graph's steps follow each other, so each timing has a gap.
    sample.seconds = std::max(time.seconds - table_.launch.gap, time.seconds / 10);
    const auto equal = [&](const cost::ContractionSample& s) {
      return s.kind == sample.kind && s.arithmetic == sample.arithmetic && s.layout == sample.layout &&
             s.batch == sample.batch && s.m == sample.m && s.n == sample.n && s.k == sample.k &&
             s.window == sample.window;
    };
    if (std::ranges::none_of(table_.contractions, equal)) table_.contractions.push_back(sample);
  }

  static int Times(double flops) { return flops > 2e11 ? 2 : flops > 2e9 ? 4 : 16; }

  absl::Status MeasureContractions(Arithmetic arithmetic) {
    const std::string_view name = cost::NameOf(arithmetic);
    const ContractionType type = TypeOf(arithmetic);
    log_ << "matmuls in " << name << "\n";
    HandmadePlan plan({device_}, "sinter measure", "matmuls");
    const std::vector<MatmulSizes> matmuls = Matmuls(type, is_host_, options_.quick);
    for (size_t i = 0; i < matmuls.size(); ++i) {
      const MatmulSizes& s = matmuls[i];
      const double flops =
          2.0 * static_cast<double>(s.batch * s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
      plan.AddMatmul(absl::StrCat(i), s, is_host_ ? 1 : Times(flops));
    }
    SINTER_ASSIGN_OR_RETURN(const auto times, Time(plan));
    for (size_t i = 0; i < matmuls.size(); ++i) {
      const MatmulSizes& s = matmuls[i];
      const auto layout = static_cast<cost::Layout>((s.transpose_a ? 1 : 0) + (s.transpose_b ? 2 : 0));
      Add({.kind = cost::ContractionKind::kProduct,
           .arithmetic = arithmetic,
           .layout = layout,
           .batch = s.batch,
           .m = s.m,
           .n = s.n,
           .k = s.k},
          times.at(absl::StrCat(i)));
    }
    SINTER_RETURN_IF_ERROR(MeasureConvolutions(arithmetic));
    return is_host_ || options_.quick || arithmetic != Arithmetic::kBf16 ? absl::OkStatus()
                                                                         : MeasureAttention();
  }

  absl::Status MeasureConvolutions(Arithmetic arithmetic) {
    const std::vector<ConvSizes> sizes = Convolutions(TypeOf(arithmetic), is_host_, options_.quick);
    if (sizes.empty()) return absl::OkStatus();
    log_ << "convolutions in " << cost::NameOf(arithmetic) << "\n";
    HandmadePlan plan({device_}, "sinter measure", "convolutions");
    for (size_t i = 0; i < sizes.size(); ++i) plan.AddConv(absl::StrCat(i), sizes[i], is_host_ ? 1 : 4);
    SINTER_ASSIGN_OR_RETURN(const auto times, Time(plan));
    for (size_t i = 0; i < sizes.size(); ++i) {
      const ConvSizes& s = sizes[i];
      const auto kind = static_cast<cost::ContractionKind>(
          static_cast<int>(cost::ContractionKind::kConvForward) + static_cast<int>(s.kind));
      Add({.kind = kind,
           .arithmetic = arithmetic,
           .m = s.batch * s.out_size() * s.out_size(),
           .n = s.out_channels,
           .k = s.in_channels * s.kernel * s.kernel,
           .window = s.kernel * s.kernel},
          times.at(absl::StrCat(i)));
    }
    return absl::OkStatus();
  }

  absl::Status MeasureAttention() {
    log_ << "attention in bf16\n";
    std::vector<AttentionSizes> sizes;
    for (const bool backward : {false, true}) {
      sizes.push_back({.backward = backward, .batch = 32, .tokens = 1024, .heads = 12, .width = 64});
      sizes.push_back({.backward = backward, .batch = 8, .tokens = 1024, .heads = 16, .width = 128});
      sizes.push_back({.backward = backward, .batch = 4, .tokens = 4096, .heads = 12, .width = 64});
    }
    HandmadePlan plan({device_}, "sinter measure", "attention");
    for (size_t i = 0; i < sizes.size(); ++i) plan.AddAttention(absl::StrCat(i), sizes[i], 2);
    SINTER_ASSIGN_OR_RETURN(const auto times, Time(plan));
    for (size_t i = 0; i < sizes.size(); ++i) {
      const AttentionSizes& s = sizes[i];
      Add({.kind = s.backward ? cost::ContractionKind::kAttentionGrad : cost::ContractionKind::kAttention,
           .arithmetic = Arithmetic::kBf16,
           .batch = s.batch * s.heads,
           .m = s.tokens,
           .n = s.tokens,
           .k = s.width},
          times.at(absl::StrCat(i)));
    }
    return absl::OkStatus();
  }

  absl::Status MeasureExchanges() {
    for (size_t ranks = 2; ranks <= options_.devices.size(); ranks *= 2) {
      SINTER_RETURN_IF_ERROR(MeasureExchangesOf(static_cast<uint32_t>(ranks)));
    }
    // The link from the all-reduces: the bandwidth from the largest, the start from the smallest.
    const auto of_sums = [](const cost::ExchangeSample& s) {
      return s.kind == cost::ExchangeKind::kAllReduce;
    };
    std::vector<cost::ExchangeSample> sums;
    std::ranges::copy_if(table_.exchanges, std::back_inserter(sums), of_sums);
    const cost::ExchangeSample& largest = sums.back();
    const auto smallest = std::ranges::find(sums, largest.ranks, &cost::ExchangeSample::ranks);
    const double ranks = largest.ranks, hops = 2 * (ranks - 1);
    cost::LinkCosts link = {static_cast<uint32_t>(options_.devices.size()), smallest->seconds, 0, 0};
    if (largest.ranks > sums.front().ranks) {
      const double more_hops = hops - 2 * (sums.front().ranks - 1.0);
      link.hop =
          std::clamp((smallest->seconds - sums.front().seconds) / more_hops, 0.0, smallest->seconds / hops);
      link.start = smallest->seconds - hops * link.hop;
    }
    const double transfer = std::max(largest.seconds - smallest->seconds, largest.seconds / 10);
    link.bandwidth = hops / ranks * largest.bytes / transfer;
    table_.links.push_back(link);
    return absl::OkStatus();
  }

  absl::Status MeasureExchangesOf(uint32_t ranks) {
    log_ << "exchanges of " << ranks << " devices\n";
    const std::vector<Device> devices(options_.devices.begin(), options_.devices.begin() + ranks);
    HandmadePlan plan(devices, "sinter measure", "exchanges");
    const std::pair<cost::ExchangeKind, fb::CollectiveKind> kinds[] = {
        {cost::ExchangeKind::kAllReduce, fb::CollectiveKind::AllReduce},
        {cost::ExchangeKind::kAllGather, fb::CollectiveKind::AllGather},
        {cost::ExchangeKind::kReduceScatter, fb::CollectiveKind::ReduceScatter}};
    const int64_t most = options_.quick ? 1 << 14 : 1 << (is_host_ ? 22 : 26);
    const auto name = [](auto kind, int64_t floats) {
      return absl::StrCat(static_cast<int>(kind), " ", floats);
    };
    for (const auto& [kind, body] : kinds) {
      for (int64_t floats = 1 << 12; floats <= most; floats <<= 2)
        plan.AddCollective(name(kind, floats), body, floats, 4);
    }
    const MatmulSizes matmul = {.type = {DType::kF32}, .m = 1024, .n = 1024, .k = 1024};
    if (!is_host_) {
      plan.AddCollective("computes", fb::CollectiveKind::AllReduce, most, 4, &matmul,
                         /*has_collective=*/false);
      plan.AddCollective("both", fb::CollectiveKind::AllReduce, most, 4, &matmul);
    }
    SINTER_ASSIGN_OR_RETURN(const auto times, Time(plan, ranks));
    for (const auto& [kind, body] : kinds) {
      for (int64_t floats = 1 << 12; floats <= most; floats <<= 2) {
        table_.exchanges.push_back(
            {kind, ranks, 4.0 * static_cast<double>(floats), times.at(name(kind, floats)).seconds});
      }
    }
    if (!is_host_) {
      // The part of the exchange's time that compute gets done beside it.
      const double sum = times.at(name(cost::ExchangeKind::kAllReduce, most)).seconds;
      const double computes = times.at("computes").seconds, both = 2 * times.at("both").seconds;
      table_.launch.beside_exchange =
          std::clamp((sum + computes - both) / std::min(sum, computes), 0.05, 1.0);
    }
    return absl::OkStatus();
  }

  void TakeBuiltIn() {
    const cost::CostTable& known = *cost::FindBuiltinCosts(is_host_ ? "cpu" : "h200");
    table_.rates = known.rates;
    table_.library_bytes = known.library_bytes;
    if (is_host_) {
      const double part = MostFlops(table_) / MostFlops(known);
      for (cost::KernelRate& rate : table_.rates) rate.flops_per_second *= part;
    }
    const auto add_link = [&](bool is_between_nodes) {
      for (const cost::LinkCosts& link : known.links) {
        if ((link.ranks == 0) == is_between_nodes) table_.links.push_back(link);
      }
    };
    if (options_.devices.size() < 2) add_link(false);
    add_link(true);
  }

  // In f32.
  static double MostFlops(const cost::CostTable& table) {
    double most = 1;
    for (const cost::ContractionSample& s : table.contractions) {
      if (s.arithmetic == Arithmetic::kF32) most = std::max(most, s.flops / s.seconds);
    }
    return most;
  }

  const MeasureOptions& options_;
  std::ostream& log_;
  const Device device_;
  const bool is_host_;
  cost::CostTable table_;
};

}  // namespace

absl::StatusOr<cost::CostTable> MeasureCosts(const MeasureOptions& options, std::ostream& log) {
  if (options.devices.empty()) return absl::InvalidArgumentError("--device: no device");
  if (!(options.seconds_each > 0)) return absl::InvalidArgumentError("--seconds: not above 0");
  return Measurement(options, log).Run();
}

}  // namespace sinter::tools
