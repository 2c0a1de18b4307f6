#include "sinter/codegen/cpu/target_machine.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include "sinter/kernels/cpu/cpu_level.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

// Features beyond baseline x86-64 that code may use. LLVM and __builtin_cpu_supports, which can check them,
// use the same names. They are those of the levels up to x86-64-v4 and newer ones that both Intel and AMD
// have; libraries use bf16 and vnni.
constexpr const char* kUsedFeatures[] = {
    "avx",     "avx2",       "avx512bf16", "avx512bitalg", "avx512bw", "avx512cd",   "avx512dq",
    "avx512f", "avx512ifma", "avx512vbmi", "avx512vbmi2",  "avx512vl", "avx512vnni", "avx512vpopcntdq",
    "bmi",     "bmi2",       "f16c",       "fma",          "gfni",     "lzcnt",      "movbe",
    "popcnt",  "sse3",       "sse4.1",     "sse4.2",       "ssse3"};

// Required of every target: the features of x86-64-v3 that our kernels rely on.
constexpr const char* kNeededFeatures[] = {"avx2", "bmi2", "f16c", "fma"};

void InitializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

using Features = std::set<std::string>;

// Returns all features of a CPU, including implied ones: the levels list avx2, but not avx and sse4.1, which
// it implies.
Features FeaturesOfCpu(llvm::StringRef cpu) {
  llvm::SmallVector<llvm::StringRef, 64> features;
  llvm::X86::getFeaturesForCPU(cpu, features);
  llvm::StringMap<bool> implied;
  for (llvm::StringRef feature : features) {
    implied[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, /*Enabled=*/true, implied);
  }
  Features enabled;
  for (const auto& entry : implied) {
    if (entry.second) enabled.insert(entry.first().str());
  }
  return enabled;
}

// True if code may use the feature: one of kUsedFeatures, or one that x86-64-v4 implies but that cannot be
// checked, such as cx16.
bool IsUsed(const std::string& feature) {
  static const Features used = [] {
    Features all = FeaturesOfCpu("x86-64-v4");
    all.insert(std::begin(kUsedFeatures), std::end(kUsedFeatures));
    all.insert("64bit");  // LLVM omits it from the list of a CPU.
    return all;
  }();
  return used.count(feature) != 0;
}

absl::StatusOr<CpuTarget> FinishTarget(std::string cpu, std::string features, const Features& has) {
  for (const char* needed : kNeededFeatures) {
    if (has.count(needed) != 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the CPU \"", cpu, "\" has no ", needed,
                     ", which Sinter's kernels need; the oldest CPU level that has it "
                     "is \"x86-64-v3\" (Intel Haswell, AMD Zen, or newer)"));
  }
  CpuTarget target;
  target.triple = kTriple;
  target.cpu = std::move(cpu);
  target.features = std::move(features);
  for (const char* feature : kUsedFeatures) {
    if (has.count(feature) != 0) target.required_features.emplace_back(feature);
  }
  target.vector_bits = has.count("avx512f") != 0 && has.count("avx512vl") != 0 ? 512 : 256;
  return target;
}

std::string NearestNames(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> valid) {
  std::vector<std::pair<unsigned, std::string>> ranked;
  for (llvm::StringRef candidate : valid) {
    ranked.emplace_back(name.edit_distance(candidate), candidate.str());
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (ranked.size() > 3) ranked.resize(3);
  return absl::StrJoin(ranked, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, "\"", entry.second, "\"");
  });
}

}  // namespace

absl::StatusOr<CpuTarget> CpuTarget::Host() {
  const int asked = sn_cpu_level_asked();
  if (asked > 0 && asked == sn_cpu_level())
    return Parse(asked == 1 ? "x86-64" : absl::StrCat("x86-64-v", asked));
  Features enabled, all;
  for (const auto& entry : llvm::sys::getHostCPUFeatures()) {
    const std::string name = entry.first().str();
    // Other names of AVX-512 features. The host reports them for 256 bits as well, about which Clang warns.
    if (entry.first().starts_with("avx10")) continue;
    const bool is_on = entry.second && IsUsed(name);
    all.insert((is_on ? "+" : "-") + name);
    if (is_on) enabled.insert(name);
  }
  return FinishTarget(llvm::sys::getHostCPUName().str(), absl::StrJoin(all, ","), enabled);
}

absl::StatusOr<CpuTarget> CpuTarget::Parse(std::string_view name) {
  if (name == "native") return Host();
  llvm::SmallVector<llvm::StringRef, 128> valid;
  llvm::X86::fillValidCPUArchList(valid, /*Only64Bit=*/true);
  llvm::StringRef wanted(name.data(), name.size());
  if (!llvm::is_contained(valid, wanted)) {
    return absl::InvalidArgumentError(absl::StrCat("unknown CPU \"", std::string(name),
                                                   "\"; the nearest names are ", NearestNames(wanted, valid),
                                                   ", and \"native\" is this machine"));
  }
  Features enabled, off;
  for (const std::string& feature : FeaturesOfCpu(wanted)) {
    if (IsUsed(feature)) {
      enabled.insert(feature);
    } else {
      off.insert("-" + feature);
    }
  }
  return FinishTarget(wanted.str(), absl::StrJoin(off, ","), enabled);
}

absl::StatusOr<std::vector<CpuTarget>> ParseCpuTargets(const std::vector<std::string>& names) {
  constexpr size_t kMost = 16;  // The same limit as in runtime/plan/plan_code.h.
  if (names.empty() || names.size() > kMost) {
    return absl::InvalidArgumentError(absl::StrCat("target_cpu names ", names.size(), " CPUs; name 1 to ",
                                                   kMost, ", such as \"native\" or \"x86-64-v3\""));
  }
  std::vector<CpuTarget> targets;
  for (const std::string& name : names) {
    SINTER_ASSIGN_OR_RETURN(CpuTarget target, CpuTarget::Parse(name));
    bool is_new = std::none_of(targets.begin(), targets.end(), [&](const CpuTarget& other) {
      return other.cpu == target.cpu && other.features == target.features;
    });
    if (is_new) targets.push_back(std::move(target));
  }
  std::stable_sort(targets.begin(), targets.end(), [](const CpuTarget& a, const CpuTarget& b) {
    return std::pair(a.vector_bits, a.required_features.size()) >
           std::pair(b.vector_bits, b.required_features.size());
  });
  return targets;
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> CpuTarget::CreateTargetMachine(int opt_level) const {
  InitializeLlvm();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("this build of LLVM cannot generate code for ", triple, ": ", error));
  }
  std::optional<llvm::CodeGenOptLevel> level = llvm::CodeGenOpt::getLevel(opt_level);
  if (!level.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimisation level ", opt_level, " is not one of 0, 1, 2, 3"));
  }
  llvm::TargetOptions options;
  options.FunctionSections = true;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, *level));
}

}  // namespace sinter::codegen
