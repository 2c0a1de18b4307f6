// Runs one case of the ONNX standard.
//
//   OnnxCaseResult result = RunOnnxCase("/usr/share/libonnx-testdata/data", "node/test_abs", {});
#ifndef SINTER_TOOLS_ONNX_ONNX_CASE_H_
#define SINTER_TOOLS_ONNX_ONNX_CASE_H_

#include <string>

#include "sinter/tools/onnx/onnx_suite.h"

namespace sinter::tools {

// Imports the model with the shapes of the inputs, compiles, runs and compares. An input that decides a shape
// is known when importing. Never fails itself: the result says what happened.
OnnxCaseResult RunOnnxCase(const std::string& folder, const std::string& name, const CompileOptions& compile);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_ONNX_ONNX_CASE_H_
