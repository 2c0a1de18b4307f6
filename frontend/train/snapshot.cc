#include "sinter/frontend/train/snapshot.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>
#include <span>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/train/number_text.h"
#include "sinter/frontend/train/trainer.h"
#include "sinter/runtime/execute/index_checks.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/tensor/scalar_log.h"

namespace sinter::train {
namespace {

constexpr char kMark[] = "{iteration}";
constexpr char kSuffix[] = ".safetensors";

// Removes files of which a newer one has been written.
absl::Status Remove(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::error_code error;
    std::filesystem::remove(folder + "/" + name, error);
    if (error)
      return absl::PermissionDeniedError(
          absl::StrCat("cannot remove the old snapshot ", folder, "/", name, ": ", error.message()));
  }
  return absl::OkStatus();
}

// Copies the variables that a checkpoint has.
absl::StatusOr<std::vector<NamedTensor>> Variables(const Session& session) {
  std::vector<NamedTensor> tensors;
  for (const VariableInfo& variable : session.variables()) {
    if (IsLogVariable(variable.name) || IsIndexCheck(variable.name)) continue;
    SINTER_ASSIGN_OR_RETURN(HostTensor value, session.ReadVariable(variable.name));
    tensors.push_back({variable.name, std::move(value)});
  }
  return tensors;
}

// True if ranks hold parts of variables, which all processes then write together.
bool IsWrittenTogether(Trainer& trainer) {
  const std::span<const VariableInfo> variables = trainer.session().variables();
  return trainer.options().world != nullptr && trainer.options().world->size() > 1 &&
         std::ranges::any_of(variables, [](const VariableInfo& v) { return v.is_cut || v.is_sum; });
}

// Loads a snapshot, also of a program with other metrics: those that the file lacks begin empty.
absl::StatusOr<Metadata> LoadSnapshot(Session& session, const std::string& path) {
  std::set<std::string> in_file, in_session, shared;
  SINTER_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  for (const SafetensorsEntry& entry : file.entries()) in_file.insert(entry.name);
  for (const VariableInfo& variable : session.variables()) {
    if (!IsLogVariable(variable.name) && !IsIndexCheck(variable.name)) in_session.insert(variable.name);
  }
  std::ranges::set_intersection(in_file, in_session, std::inserter(shared, shared.end()));
  const auto is_whole = [&](const std::set<std::string>& names) {
    return std::ranges::all_of(names, [&](const std::string& name) {
      return shared.contains(name) || name.starts_with(kMetricPrefix);
    });
  };
  // LoadCheckpoint names all other differences.
  if (!is_whole(in_file) || !is_whole(in_session) || shared.empty()) return LoadCheckpoint(session, path);
  return LoadCheckpoint(session, path, {.only = {shared.begin(), shared.end()}});
}

}  // namespace

std::string Snapshot::NameAt(int64_t iteration) const {
  std::string name = options_.file;
  const size_t mark = name.find(kMark);
  if (mark != std::string::npos) name.replace(mark, sizeof(kMark) - 1, absl::StrCat(iteration));
  return name + kSuffix;
}

absl::StatusOr<std::string> Snapshot::Newest(const std::string& folder) const {
  const size_t mark = options_.file.find(kMark);
  if (mark == std::string::npos) {
    const std::string name = options_.file + kSuffix;
    return std::filesystem::exists(folder + "/" + name) ? name : "";
  }
  // Another process may not have made the folder yet.
  if (!std::filesystem::exists(folder)) return "";
  const std::string prefix = options_.file.substr(0, mark);
  const std::string suffix = options_.file.substr(mark + sizeof(kMark) - 1) + kSuffix;
  int64_t newest = -1;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = file.path().filename();
    if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
      continue;
    int64_t iteration = 0;
    const std::string digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    if (ParseNumber(digits, iteration)) newest = std::max(newest, iteration);
  }
  if (error)
    return absl::NotFoundError(absl::StrCat("cannot read the folder ", folder, ": ", error.message()));
  return newest < 0 ? "" : NameAt(newest);
}

absl::Status Snapshot::Resume(Trainer& trainer) {
  if (options_.file.find('/') != std::string::npos)
    return absl::InvalidArgumentError(
        absl::StrCat("\"", options_.file, "\" is no name of a file in the folder"));
  if (options_.keep < 0)
    return absl::InvalidArgumentError(absl::StrCat("keep needs to be at least 0, got ", options_.keep));
  if (options_.keep > 0 && !has_iteration())
    return absl::InvalidArgumentError(
        absl::StrCat("keep is for files whose names have an iteration; \"", options_.file, "\" is one file"));
  if (options_.asynchronous && IsWrittenTogether(trainer))
    return absl::UnimplementedError(
        "asynchronous snapshots are not possible where ranks hold parts of variables, as with "
        "parallel::Zero; leave out .asynchronous, or keep whole variables on each rank");
  if (!options_.autoload) return absl::OkStatus();
  SINTER_ASSIGN_OR_RETURN(const std::string newest, Newest(trainer.options().out));
  if (newest.empty()) return absl::OkStatus();
  SINTER_ASSIGN_OR_RETURN(const Metadata metadata, LoadSnapshot(trainer.session(), trainer.OutFile(newest)));
  const absl::Status loaded = trainer.Load(metadata);
  if (loaded.ok()) return loaded;
  return absl::Status(loaded.code(), absl::StrCat(trainer.OutFile(newest), ": ", loaded.message()));
}

absl::Status Snapshot::Wait() {
  if (!writing_.valid()) return absl::OkStatus();
  return writing_.get();
}

absl::Status Snapshot::Write(Trainer& trainer, const std::string& path, std::vector<std::string> doomed) {
  SINTER_RETURN_IF_ERROR(Wait());
  const Metadata metadata = trainer.Save();
  if (options_.asynchronous) {
    if (!trainer.is_first()) return absl::OkStatus();
    SINTER_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors, Variables(trainer.session()));
    writing_ = std::async(std::launch::async,
                          [path, metadata, folder = trainer.options().out, doomed = std::move(doomed),
                           tensors = std::move(tensors)]() -> absl::Status {
                            SINTER_RETURN_IF_ERROR(SaveSafetensors(path, tensors, metadata));
                            return Remove(folder, doomed);
                          });
    return absl::OkStatus();
  }
  if (trainer.is_first() || IsWrittenTogether(trainer))
    SINTER_RETURN_IF_ERROR(SaveCheckpoint(trainer.session(), path, metadata));
  return trainer.is_first() ? Remove(trainer.options().out, doomed) : absl::OkStatus();
}

absl::Status Snapshot::Run(Trainer& trainer) {
  const std::string name = NameAt(trainer.progress().iteration);
  std::erase(files_, name);
  files_.push_back(name);
  std::vector<std::string> doomed;
  while (options_.keep > 0 && static_cast<int64_t>(files_.size()) > options_.keep) {
    doomed.push_back(files_.front());
    files_.erase(files_.begin());
  }
  return Write(trainer, trainer.OutFile(name), std::move(doomed));
}

absl::Status Snapshot::Interrupt(Trainer& trainer) {
  if (!options_.on_signal || (!has_iteration() && !options_.autoload)) return absl::OkStatus();
  SINTER_RETURN_IF_ERROR(Write(trainer, trainer.OutFile(NameAt(trainer.progress().iteration)), {}));
  return Wait();
}

void Snapshot::Save(State& state) const {
  std::string names;
  for (const std::string& name : files_) absl::StrAppend(&names, names.empty() ? "" : "/", name);
  state.SetText("files", names);
}

absl::Status Snapshot::Load(const State& state) {
  SINTER_ASSIGN_OR_RETURN(const std::string names, state.Text("files"));
  files_ = SplitWords(names, '/');
  return absl::OkStatus();
}

}  // namespace sinter::train
