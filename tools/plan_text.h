// Short text for parts of a plan (types, source lines, devices), for the command-line programs.
//
//   LocationText(plan.table(), 3)      // "lenet.cc:12 Linear(128)"
//   SignatureText(function, step)      // "f32[2,3], f32[3] -> f32[2]"
#ifndef SINTER_TOOLS_PLAN_TEXT_H_
#define SINTER_TOOLS_PLAN_TEXT_H_

#include <cstdint>
#include <string>

#include "runtime/plan_generated.h"

namespace sinter::tools {

// Returns `*vector`, or an empty vector if `vector` is null.
template <typename T>
const flatbuffers::Vector<T>& OrEmpty(const flatbuffers::Vector<T>* vector) {
  static const uint32_t kLength = 0;
  return vector == nullptr ? reinterpret_cast<const flatbuffers::Vector<T>&>(kLength) : *vector;
}

// Returns "file.cc:12 Linear(128)"; "-" if the location has no recorded text.
std::string LocationText(const fb::Plan& plan, uint32_t location);
// Returns the locations of a step, in order and without repetitions: the first `most` and the number of the
// others.
std::string LocationsText(const fb::Plan& plan, const fb::Step& step, int most);

// Returns "f32[2,3]".
std::string TypeText(const fb::TensorType& type);
// Returns the types of a step's operands: "f32[2,3], f32[3] -> f32[2]".
std::string SignatureText(const fb::Function& function, const fb::Step& step);

// Returns the device of a step: "gpu:1", or "cpu:0 to gpu:1" for a copy between devices. Empty if the plan
// has one device.
std::string PlaceText(const fb::Plan& plan, const fb::Function& function, const fb::Step& step);

// Returns "512 B", "1.50 kB", "3.20 MB": powers of 1000.
std::string BytesText(double bytes);
// Returns "1.20 GFLOP"; "-" for 0.
std::string FlopsText(double flops);

// Lists the copies of the plan, one per line: function, bytes, types, source lines, devices. Empty if the
// plan has no copies.
std::string CopiesText(const fb::Plan& plan);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PLAN_TEXT_H_
