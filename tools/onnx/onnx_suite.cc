#include "sinter/tools/onnx/onnx_suite.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tools/onnx/onnx_case.h"

namespace sinter::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> FindCases(const OnnxSuiteOptions& options) {
  std::vector<std::string> names;
  std::error_code code;
  fs::recursive_directory_iterator it(options.folder, code);
  for (; !code && it != fs::recursive_directory_iterator(); it.increment(code)) {
    if (it->path().filename() != "model.onnx") continue;
    std::string name = fs::relative(it->path().parent_path(), options.folder, code).string();
    if (name.find(options.filter) != std::string::npos) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

int OnnxSuiteResult::Count(OnnxOutcome outcome) const {
  return static_cast<int>(
      std::ranges::count_if(cases, [&](const OnnxCaseResult& c) { return c.outcome == outcome; }));
}

absl::StatusOr<OnnxSuiteResult> RunOnnxSuite(const OnnxSuiteOptions& options) {
  const std::vector<std::string> names = FindCases(options);
  if (names.empty()) {
    return absl::NotFoundError(absl::StrCat("there are no cases of the ONNX standard in ", options.folder));
  }
  OnnxSuiteResult result;
  result.cases.resize(names.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < names.size(); i = next++) {
      result.cases[i] = RunOnnxCase(options.folder, names[i], options.compile);
    }
  };
  const int jobs = options.jobs > 0 ? options.jobs : static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (int i = 0; i < jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return result;
}

std::string OnnxSuiteText(const OnnxSuiteResult& result) {
  std::ostringstream text;
  std::map<std::string, int> codes;
  int with_bound = 0;
  for (const OnnxCaseResult& one : result.cases) {
    if (one.outcome == OnnxOutcome::kPassed) {
      with_bound += one.bound > 0 ? 1 : 0;
      continue;
    }
    const bool failed = one.outcome == OnnxOutcome::kFailed;
    text << (failed ? "FAIL " : "UNSUPPORTED ") << one.name << ": " << one.reason << "\n";
    if (!failed) ++codes[one.reason.substr(0, one.reason.find(':'))];
  }
  std::vector<std::string> reasons;
  for (const auto& [code, count] : codes) reasons.push_back(absl::StrCat(count, " ", code));
  text << result.Count(OnnxOutcome::kPassed) << " passed, " << result.Count(OnnxOutcome::kFailed)
       << " failed, " << result.Count(OnnxOutcome::kUnsupported) << " unsupported\n";
  text << "passed with inputs that were given when importing: " << with_bound << "\n";
  if (!reasons.empty()) text << "unsupported: " << absl::StrJoin(reasons, ", ") << "\n";
  return text.str();
}

namespace {

// The word after a case's name in a list.
std::string CodeOf(const OnnxCaseResult& one) {
  if (one.outcome == OnnxOutcome::kPassed) return "";
  if (one.outcome == OnnxOutcome::kFailed) return "FAIL";
  return one.reason.substr(0, one.reason.find(':'));
}

using CaseList = std::map<std::string, std::string>;  // By name: the code, empty if the case passes.

absl::StatusOr<CaseList> ReadCaseList(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
  CaseList list;
  for (const auto& line : absl::StrSplit(std::string(file.text()), '\n', absl::SkipEmpty())) {
    if (line[0] == '#') continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    list[words[0]] = words.size() > 1 ? words[1] : "";
  }
  return list;
}

bool IsOf(const CaseList& list, const OnnxSuiteResult& result) {
  return list.size() == result.cases.size() &&
         std::ranges::all_of(result.cases,
                             [&](const OnnxCaseResult& one) { return list.contains(one.name); });
}

absl::Status CompareWithList(const OnnxSuiteResult& result, const CaseList& list, const std::string& path) {
  std::vector<std::string> problems;
  for (const OnnxCaseResult& one : result.cases) {
    const std::string expected = list.at(one.name), got = CodeOf(one);
    if (got == expected && one.outcome != OnnxOutcome::kFailed) continue;
    problems.push_back(absl::StrCat(one.name, expected.empty() ? " does not pass any more: " : " differs: ",
                                    got.empty() ? "it passes" : one.reason, "; the list has '",
                                    expected.empty() ? "passes" : expected, "'"));
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(absl::StrJoin(problems, "\n"), "\nThe list is ", path));
}

}  // namespace

std::string OnnxCaseList(const OnnxSuiteResult& result) {
  std::string text =
      "# Cases of the ONNX standard: the name, and the code of one that is not supported.\n"
      "# Written by sinter onnx-test --write-list.\n";
  for (const OnnxCaseResult& one : result.cases) {
    const std::string code = CodeOf(one);
    absl::StrAppend(&text, one.name, code.empty() ? "" : " ", code, "\n");
  }
  return text;
}

absl::Status CompareWithLists(const OnnxSuiteResult& result, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    SINTER_ASSIGN_OR_RETURN(const CaseList list, ReadCaseList(path));
    if (IsOf(list, result)) return CompareWithList(result, list, path);
  }
  return absl::NotFoundError(
      absl::StrCat("no list has these ", result.cases.size(), " cases: ", absl::StrJoin(paths, ", ")));
}

}  // namespace sinter::tools
