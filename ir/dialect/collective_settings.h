// CollectiveSettings: the attributes in which collectives differ, for code that treats all collectives alike.
//
//   if (collective.getSettings().combine == ReduceKind::mean) ...
#ifndef SINTER_IR_DIALECT_COLLECTIVE_SETTINGS_H_
#define SINTER_IR_DIALECT_COLLECTIVE_SETTINGS_H_

#include <cstdint>
#include <optional>

#include "llvm/ADT/ArrayRef.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

struct CollectiveSettings {
  std::optional<ReduceKind> combine;   // nullopt if elements only move.
  int64_t root = 0;                    // A rank.
  llvm::ArrayRef<int64_t> sizes = {};  // By rank: the parts' sizes along dimension 0. Empty without parts.
};

// Reads the attributes that the op's record has.
template <typename Op>
CollectiveSettings SettingsOf(Op op) {
  CollectiveSettings settings;
  if constexpr (requires { op.getCombine(); }) settings.combine = op.getCombine();
  if constexpr (requires { op.getRoot(); }) settings.root = static_cast<int64_t>(op.getRoot());
  if constexpr (requires { op.getSizes(); }) settings.sizes = op.getSizes();
  return settings;
}

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_COLLECTIVE_SETTINGS_H_
