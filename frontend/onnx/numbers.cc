#include "sinter/frontend/onnx/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sinter/runtime/host/element_types.h"
#include "sinter/runtime/host/status.h"

namespace sinter::onnx {
namespace {

template <typename T>
std::vector<int64_t> WholeOf(const HostTensor& tensor) {
  const auto* data = static_cast<const T*>(tensor.data());
  std::vector<int64_t> result(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<int64_t>(data[i]);
  return result;
}

// Rounds towards zero within the range of T; NaN is 0.
template <typename T>
T Limited(double x) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (std::isnan(x)) return 0;
  if (x <= kLow) return std::numeric_limits<T>::min();
  if (x >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

template <typename T>
void StoreWhole(const Numbers& from, HostTensor& to) {
  auto* out = static_cast<T*>(to.mutable_data());
  for (int64_t i = 0; i < from.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    out[i] = from.is_real ? Limited<T>(from.real[at]) : static_cast<T>(from.whole[at]);
  }
}

}  // namespace

int64_t CountOf(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

bool BroadcastShapes(const Shape& a, const Shape& b, Shape& result) {
  const size_t rank = std::max(a.size(), b.size());
  result.assign(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t p = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t q = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (p != q && p != 1 && q != 1) return false;
    result[rank - 1 - i] = p == 1 ? q : p;
  }
  return true;
}

std::vector<int64_t> BroadcastPlaces(const Shape& from, const Shape& to) {
  std::vector<int64_t> places(static_cast<size_t>(CountOf(to)), 0);
  int64_t stride = 1, inner = 1;
  for (size_t k = 0; k < to.size(); ++k) {
    const int64_t size = to[to.size() - 1 - k];
    if (k < from.size()) {
      const int64_t own = from[from.size() - 1 - k];
      if (own != 1) {
        for (size_t i = 0; i < places.size(); ++i) {
          places[i] += static_cast<int64_t>(i) / inner % size * stride;
        }
      }
      stride *= own;
    }
    inner *= std::max<int64_t>(size, 1);
  }
  return places;
}

Numbers Numbers::Of(const HostTensor& tensor) {
  Numbers result{.shape = tensor.shape(), .is_real = IsFloat(tensor.dtype()) || IsStored(tensor.dtype())};
  if (result.is_real) {
    const auto* bytes = static_cast<const std::byte*>(tensor.data());
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      result.real.push_back(LoadNumber(tensor.dtype(), bytes + i * SizeOf(tensor.dtype())));
    }
    return result;
  }
  switch (tensor.dtype()) {
    case DType::kI64:
    case DType::kU64:
      result.whole = WholeOf<int64_t>(tensor);
      break;
    case DType::kI32:
      result.whole = WholeOf<int32_t>(tensor);
      break;
    case DType::kU32:
      result.whole = WholeOf<uint32_t>(tensor);
      break;
    case DType::kI16:
      result.whole = WholeOf<int16_t>(tensor);
      break;
    case DType::kU16:
      result.whole = WholeOf<uint16_t>(tensor);
      break;
    case DType::kI8:
      result.whole = WholeOf<int8_t>(tensor);
      break;
    default:
      result.whole = WholeOf<uint8_t>(tensor);
      break;
  }
  return result;
}

absl::StatusOr<HostTensor> Numbers::To(DType dtype) const {
  SINTER_ASSIGN_OR_RETURN(HostTensor to, HostTensor::Empty(dtype, shape));
  if (to.num_elements() != size())
    return absl::InternalError("a folded value has another size than its shape");
  switch (dtype) {
    case DType::kF64: {
      auto* out = static_cast<double*>(to.mutable_data());
      for (int64_t i = 0; i < size(); ++i) out[i] = Real(i);
      return to;
    }
    case DType::kF32: {
      auto* out = static_cast<float*>(to.mutable_data());
      for (int64_t i = 0; i < size(); ++i) {
        out[i] = is_real ? static_cast<float>(real[static_cast<size_t>(i)])
                         : static_cast<float>(whole[static_cast<size_t>(i)]);
      }
      return to;
    }
    case DType::kI64:
      StoreWhole<int64_t>(*this, to);
      return to;
    case DType::kI32:
      StoreWhole<int32_t>(*this, to);
      return to;
    case DType::kI16:
      StoreWhole<int16_t>(*this, to);
      return to;
    case DType::kI8:
      StoreWhole<int8_t>(*this, to);
      return to;
    case DType::kU64:
      StoreWhole<uint64_t>(*this, to);
      return to;
    case DType::kU32:
      StoreWhole<uint32_t>(*this, to);
      return to;
    case DType::kU16:
      StoreWhole<uint16_t>(*this, to);
      return to;
    case DType::kU8:
      StoreWhole<uint8_t>(*this, to);
      return to;
    case DType::kI1: {
      auto* out = static_cast<uint8_t*>(to.mutable_data());
      for (int64_t i = 0; i < size(); ++i) out[i] = Real(i) != 0 ? 1 : 0;
      return to;
    }
    default:
      return absl::UnimplementedError("not folded to this type");
  }
}

}  // namespace sinter::onnx
