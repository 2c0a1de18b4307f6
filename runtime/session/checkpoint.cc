#include "sinter/runtime/session/checkpoint.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/execute/index_checks.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/load_parts.h"
#include "sinter/runtime/session/save_parts.h"
#include "sinter/runtime/session/session_peers.h"
#include "sinter/runtime/session/session_state.h"
#include "sinter/runtime/tensor/scalar_log.h"

namespace sinter {

namespace {

// "encoder.*" matches a prefix; other patterns match the whole name.
bool Matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Returns the variables to load. Appends problems with `only` to `problems`.
std::vector<const VariableInfo*> Wanted(std::span<const VariableInfo> variables, const LoadOptions& options,
                                        std::vector<std::string>& problems) {
  std::vector<const VariableInfo*> wanted;
  for (const VariableInfo& variable : variables) {
    if (IsLogVariable(variable.name) || IsIndexCheck(variable.name)) continue;
    auto names_it = [&](const std::string& pattern) { return Matches(pattern, variable.name); };
    if (options.only.empty() || std::ranges::any_of(options.only, names_it)) wanted.push_back(&variable);
  }
  for (const std::string& pattern : options.only) {
    auto is_named = [&](const VariableInfo* variable) { return Matches(pattern, variable->name); };
    if (std::ranges::none_of(wanted, is_named)) {
      problems.push_back(absl::StrCat(
          "\"", pattern, "\" names no variable of the session; a prefix ends in '*', as \"encoder.*\""));
    }
  }
  return wanted;
}

// Appends one problem for each difference between the file's tensors and the wanted variables.
void CompareWithFile(const std::vector<const VariableInfo*>& wanted, const SafetensorsFile& file,
                     bool is_filtered, std::vector<std::string>& problems) {
  std::map<std::string_view, const SafetensorsEntry*> rest;
  for (const SafetensorsEntry& entry : file.entries()) rest[entry.name] = &entry;
  for (const VariableInfo* variable : wanted) {
    auto found = rest.find(variable->name);
    if (found == rest.end()) {
      problems.push_back(absl::StrCat("variable \"", variable->name, "\" (", variable->TypeString(),
                                      ") is missing in the file"));
      continue;
    }
    const SafetensorsEntry& entry = *found->second;
    if (entry.dtype != variable->dtype || entry.shape != variable->shape) {
      problems.push_back(absl::StrCat("variable \"", variable->name, "\" is ", variable->TypeString(),
                                      " in the session and ", ShapeToString(entry.dtype, entry.shape),
                                      " in the file"));
    }
    rest.erase(found);
  }
  if (is_filtered) return;
  for (const auto& [name, entry] : rest) {
    problems.push_back(absl::StrCat("the file's tensor \"", PrintableText(entry->name), "\" (",
                                    ShapeToString(entry->dtype, entry->shape),
                                    ") is no variable of the session"));
  }
}

absl::Status Mismatch(const std::string& path, const std::vector<std::string>& problems) {
  std::string text = absl::StrCat(path, ": does not fit the session, which keeps its values; ",
                                  problems.size(), problems.size() == 1 ? " difference:" : " differences:");
  for (const std::string& problem : problems) absl::StrAppend(&text, "\n  ", problem);
  return absl::InvalidArgumentError(text);
}

using internal_session::LoadedPart;
using internal_session::SessionPeers;
using internal_session::SessionState;

bool HasCutVariables(const Session& session) {
  return std::ranges::any_of(session.variables(),
                             [](const VariableInfo& variable) { return variable.is_cut || variable.is_sum; });
}

// The processes that save or load together: those of the session if ranks hold parts of its variables.
SessionPeers PeersOf(const Session& session) {
  return HasCutVariables(session) ? SessionPeers::Of(SessionState::Of(session).buffers()) : SessionPeers();
}

// Opens the file, and finds the variables that it is to give values.
absl::StatusOr<SafetensorsFile> OpenFor(const Session& session, const std::string& path,
                                        const LoadOptions& options,
                                        std::vector<const VariableInfo*>& wanted) {
  SINTER_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
  if (file.checks() == SafetensorsChecks::kNone && !options.allow_unchecked) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": carries no checksums: another program wrote it, or it is a damaged checkpoint; to load "
        "it as it is, set LoadOptions::allow_unchecked"));
  }
  std::vector<std::string> problems;
  wanted = Wanted(session.variables(), options, problems);
  CompareWithFile(wanted, file, !options.only.empty(), problems);
  if (!problems.empty()) return Mismatch(path, problems);
  return file;
}

}  // namespace

absl::Status SaveCheckpoint(const Session& session, const std::string& path, const Metadata& metadata) {
  std::vector<size_t> saved;
  for (size_t i = 0; i < session.variables().size(); ++i) {
    const std::string& name = session.variables()[i].name;
    if (!IsLogVariable(name) && !IsIndexCheck(name)) saved.push_back(i);
  }
  return internal_session::SaveParts(SessionState::Of(session), PeersOf(session), saved, path, metadata);
}

absl::StatusOr<Metadata> LoadCheckpoint(Session& session, const std::string& path,
                                        const LoadOptions& options) {
  std::vector<const VariableInfo*> wanted;
  const absl::StatusOr<SafetensorsFile> file = OpenFor(session, path, options, wanted);
  std::vector<LoadedPart> loaded;
  for (const VariableInfo* const variable : wanted) {
    if (!file.ok()) break;
    const auto entry = std::ranges::find(file->entries(), variable->name, &SafetensorsEntry::name);
    loaded.push_back({.variable = static_cast<size_t>(variable - session.variables().data()),
                      .entry = static_cast<size_t>(entry - file->entries().begin())});
  }
  SINTER_RETURN_IF_ERROR(internal_session::LoadParts(SessionState::Of(session), PeersOf(session),
                                                     file.ok() ? &*file : nullptr, loaded, file.status()));
  return file->metadata();
}

}  // namespace sinter
