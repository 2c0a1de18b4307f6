#include "sinter/codegen/plan/device_code.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/codegen/cuda/compile_cubins.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

// The added compilers by architecture.
struct CompilerTable {
  std::mutex mutex;
  std::map<std::string, const DeviceCodeCompiler*> rows;
};

CompilerTable& Compilers() {
  static CompilerTable& table = *new CompilerTable;
  return table;
}

// Null if NVRTC compiles for the architecture, or nothing does.
const DeviceCodeCompiler* AddedCompiler(const std::string& architecture) {
  CompilerTable& table = Compilers();
  const std::lock_guard lock(table.mutex);
  const auto found = table.rows.find(architecture);
  return found == table.rows.end() ? nullptr : found->second;
}

}  // namespace

absl::Status RegisterDeviceCodeCompiler(const DeviceCodeCompiler& compiler) {
  CompilerTable& table = Compilers();
  const std::lock_guard lock(table.mutex);
  if (table.rows.emplace(compiler.architecture(), &compiler).second) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("the architecture ", compiler.architecture(), " has a compiler already"));
}

absl::StatusOr<std::vector<std::vector<std::string>>> CompileDeviceCode(
    const std::vector<CudaSource>& sources, const std::vector<std::string>& architectures, int threads) {
  std::vector<std::vector<std::string>> images(sources.size(),
                                               std::vector<std::string>(architectures.size()));
  std::vector<std::string> of_cuda;
  std::vector<size_t> column;  // The position in `architectures` of each one of `of_cuda`.
  for (size_t a = 0; a < architectures.size(); ++a) {
    const DeviceCodeCompiler* const compiler = AddedCompiler(architectures[a]);
    if (compiler == nullptr) {
      of_cuda.push_back(architectures[a]);
      column.push_back(a);
      continue;
    }
    SINTER_ASSIGN_OR_RETURN(std::vector<std::string> made, compiler->Compile(sources, threads));
    SINTER_CHECK(made.size() == sources.size()) << "the compiler for " << architectures[a];
    for (size_t i = 0; i < sources.size(); ++i) images[i][a] = std::move(made[i]);
  }
  if (of_cuda.empty()) return images;
  CubinOptions options;
  options.threads = threads;
  SINTER_ASSIGN_OR_RETURN(auto cubins, CompileCubins(sources, of_cuda, options));
  for (size_t i = 0; i < sources.size(); ++i) {
    for (size_t c = 0; c < of_cuda.size(); ++c) images[i][column[c]] = std::move(cubins[i][c]);
  }
  return images;
}

}  // namespace sinter::codegen
