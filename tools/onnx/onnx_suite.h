// Runs the test cases of the ONNX standard: folders with model.onnx and test_data_set_0/{input,output}_N.pb.
//
//   SINTER_ASSIGN_OR_RETURN(OnnxSuiteResult result, RunOnnxSuite({.folder = folder, .jobs = 2}));
//   std::cout << OnnxSuiteText(result);
#ifndef SINTER_TOOLS_ONNX_ONNX_SUITE_H_
#define SINTER_TOOLS_ONNX_ONNX_SUITE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/compile/compile.h"

namespace sinter::tools {

struct OnnxSuiteOptions {
  std::string folder;
  std::string filter = {};  // Only cases whose name has this text.
  int jobs = 0;             // Cases at a time; 0: one a core.
  CompileOptions compile = {};
};

enum class OnnxOutcome { kPassed, kFailed, kUnsupported };
struct OnnxCaseResult {
  std::string name;  // The folder, relative to the suite's.
  OnnxOutcome outcome = OnnxOutcome::kFailed;
  std::string reason = {};  // Reason of a failure, or of an unsupported case, which begins with its code.
  int bound = 0;  // Inputs that decide a shape, whose values were given when the model was imported.
};
struct OnnxSuiteResult {
  std::vector<OnnxCaseResult> cases;  // By name.
  int Count(OnnxOutcome outcome) const;
};

// NotFound if there is no folder or no case in it.
absl::StatusOr<OnnxSuiteResult> RunOnnxSuite(const OnnxSuiteOptions& options);
// A line for each case that does not pass, then the counts.
std::string OnnxSuiteText(const OnnxSuiteResult& result);
// A line for each case: its name, and the code of one that does not pass.
std::string OnnxCaseList(const OnnxSuiteResult& result);
// Compares with the list that has these cases: FailedPrecondition names each case that differs. NotFound if
// each list is of other cases, as those of another version of the standard.
absl::Status CompareWithLists(const OnnxSuiteResult& result, const std::vector<std::string>& paths);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_ONNX_ONNX_SUITE_H_
