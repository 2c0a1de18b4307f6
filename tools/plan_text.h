// Parts of a plan as short text, for the command-line programs.
//
//   LocationText(plan.table(), 3)      // "lenet.cc:12 Linear(128)"
//   StepText(plan.table(), step)       // "matmul 256x128x800 bias relu"
#ifndef SINTER_TOOLS_PLAN_TEXT_H_
#define SINTER_TOOLS_PLAN_TEXT_H_

#include <cstdint>
#include <string>

#include "runtime/plan_generated.h"

namespace sinter::tools {

// A vector of the plan file, where null means empty.
template <typename T>
const flatbuffers::Vector<T>& OrEmpty(const flatbuffers::Vector<T>* vector) {
  static const uint32_t kLength = 0;
  return vector == nullptr ? reinterpret_cast<const flatbuffers::Vector<T>&>(kLength) : *vector;
}

// "file.cc:12 Linear(128)"; "-" for a location of which nothing was recorded.
std::string LocationText(const fb::Plan& plan, uint32_t location);
// All of a step's, in order, without repetitions; at most `most`, then how many more there are.
std::string LocationsText(const fb::Plan& plan, const fb::Step& step, int most);

// "f32[2,3]".
std::string TypeText(const fb::TensorType& type);
// The types of a step's operands: "f32[2,3], f32[3] -> f32[2]".
std::string SignatureText(const fb::Function& function, const fb::Step& step);

// What a step does and its parameters: "kernel softmax", "matmul 256x128x800 bias relu", "copy".
std::string StepText(const fb::Plan& plan, const fb::Step& step);
// Where a step of a plan on several devices runs: "gpu:1", and for a copy from elsewhere "cpu:0 to gpu:1". "" for a plan on
// one device.
std::string PlaceText(const fb::Plan& plan, const fb::Function& function, const fb::Step& step);

// "512 B", "1.50 kB", "3.20 MB": powers of 1000.
std::string BytesText(double bytes);
// "1.20 GFLOP", "-" for none.
std::string FlopsText(double flops);

// The copies that the plan makes, one a line: function, bytes, the user's lines, between which devices. "" when it makes
// none.
std::string CopiesText(const fb::Plan& plan);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PLAN_TEXT_H_
