#include "sinter/frontend/onnx/tensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::onnx {
namespace {

namespace fs = std::filesystem;

absl::Status Bad(const TensorProto& tensor, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("tensor '", absl::CHexEscape(tensor.name), "': ", what));
}

// Copies integers or floats that the file holds in wider fields.
template <typename T, typename Field>
absl::Status Narrow(const TensorProto& tensor, const std::vector<Field>& field, HostTensor& to) {
  if (std::ssize(field) != to.num_elements()) {
    return Bad(tensor,
               absl::StrCat("has ", field.size(), " elements, its dimensions ask for ", to.num_elements()));
  }
  auto* out = static_cast<T*>(to.mutable_data());
  for (size_t i = 0; i < field.size(); ++i) out[i] = static_cast<T>(field[i]);
  return absl::OkStatus();
}

absl::Status CopyRaw(const TensorProto& tensor, std::string_view bytes, HostTensor& to) {
  if (std::ssize(bytes) != to.num_bytes()) {
    return Bad(tensor, absl::StrCat("has ", bytes.size(), " bytes, its type and dimensions ask for ",
                                    to.num_bytes()));
  }
  if (!bytes.empty()) std::memcpy(to.mutable_data(), bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status CopyFields(const TensorProto& tensor, HostTensor& to) {
  switch (to.dtype()) {
    case DType::kF32:
      return Narrow<float>(tensor, tensor.float_data, to);
    case DType::kF64:
      return Narrow<double>(tensor, tensor.double_data, to);
    case DType::kI64:
      return Narrow<int64_t>(tensor, tensor.int64_data, to);
    case DType::kU64:
      return Narrow<uint64_t>(tensor, tensor.uint64_data, to);
    case DType::kU32:
      return Narrow<uint32_t>(tensor, tensor.uint64_data, to);
    case DType::kI32:
      return Narrow<int32_t>(tensor, tensor.int32_data, to);
    default:
      break;
  }
  // Narrow types, bit by bit.
  if (SizeOf(to.dtype()) == 2) return Narrow<uint16_t>(tensor, tensor.int32_data, to);
  return Narrow<uint8_t>(tensor, tensor.int32_data, to);
}

// A part of a file in the model's folder.
struct ExternalData {
  FileReader file;
  uint64_t offset;
};

// The path of a file in the folder.
absl::StatusOr<std::string> PathOf(const TensorProto& tensor, const std::string& folder,
                                   const std::string& location) {
  std::error_code code;
  const fs::path root = fs::weakly_canonical(folder, code);
  const fs::path path = fs::weakly_canonical(root / location, code);
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  const std::string its_data = absl::StrCat("its data is in '", absl::CHexEscape(location), "', ");
  if (location.empty() || fs::path(location).is_absolute() || end != root.end() || path == root) {
    return Bad(tensor, its_data + "which is no file name within the model's folder");
  }
  if (code || !fs::is_regular_file(path, code)) {
    return Bad(tensor, absl::StrCat(its_data, "and there is no such file in ", root.string()));
  }
  return path.string();
}

// Opens the file that has the `bytes` of the tensor.
absl::StatusOr<ExternalData> OpenExternal(const TensorProto& tensor, const std::string& folder,
                                          int64_t bytes) {
  if (folder.empty())
    return Bad(tensor, "its data is in another file, and this model was not read from a file");
  std::string location;
  int64_t offset = 0, length = bytes;
  for (const StringStringEntryProto& entry : tensor.external_data) {
    if (entry.key == "location") location = entry.value;
    int64_t* const number = entry.key == "offset" ? &offset : entry.key == "length" ? &length : nullptr;
    if (number != nullptr && (!absl::SimpleAtoi(entry.value, number) || *number < 0)) {
      return Bad(tensor, absl::StrCat("the ", entry.key, " of its data, '", absl::CHexEscape(entry.value),
                                      "', is no number of bytes"));
    }
  }
  if (length != bytes) {
    return Bad(tensor,
               absl::StrCat("has ", length, " bytes in a file, its type and dimensions ask for ", bytes));
  }
  SINTER_ASSIGN_OR_RETURN(const std::string path, PathOf(tensor, folder, location));
  SINTER_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  const auto begin = static_cast<uint64_t>(offset), size = static_cast<uint64_t>(bytes);
  if (begin > file.size() || size > file.size() - begin) {
    return Bad(tensor, absl::StrCat("needs ", bytes, " bytes at ", offset, " of '",
                                    absl::CHexEscape(location), "', which has ", file.size()));
  }
  return ExternalData{std::move(file), begin};
}

// Most bytes that the tensor can have by its data in the file.
int64_t BytesInFile(const TensorProto& tensor) {
  return std::ssize(tensor.raw_data.value_or("")) +
         8 * (std::ssize(tensor.float_data) + std::ssize(tensor.int32_data) + std::ssize(tensor.int64_data) +
              std::ssize(tensor.double_data) + std::ssize(tensor.uint64_data));
}

// Bools other than 0 and 1 would be read as both.
void CleanBools(HostTensor& tensor) {
  if (tensor.dtype() != DType::kI1) return;
  auto* bytes = static_cast<uint8_t*>(tensor.mutable_data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

}  // namespace

std::optional<DType> DTypeOfOnnx(int32_t type) {
  switch (type) {
    case 1:
      return DType::kF32;
    case 2:
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 4:
      return DType::kU16;
    case 5:
      return DType::kI16;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 9:
      return DType::kI1;
    case 10:
      return DType::kF16;
    case 11:
      return DType::kF64;
    case 12:
      return DType::kU32;
    case 13:
      return DType::kU64;
    case 16:
      return DType::kBf16;
    case 17:
      return DType::kF8E4M3;
    case 19:
      return DType::kF8E5M2;
    default:
      return std::nullopt;
  }
}

std::string OnnxTypeName(int32_t type) {
  if (const std::optional<DType> dtype = DTypeOfOnnx(type)) return std::string(DTypeName(*dtype));
  switch (type) {
    case 0:
      return "undefined";
    case kOnnxString:
      return "string";
    case 14:
      return "complex64";
    case 15:
      return "complex128";
    case 18:
      return "float8e4m3fnuz";
    case 20:
      return "float8e5m2fnuz";
    case 21:
      return "uint4";
    case 22:
      return "int4";
    case 23:
      return "float4e2m1";
    default:
      return absl::StrCat("number ", type);
  }
}

absl::StatusOr<HostTensor> ReadOnnxTensor(const TensorProto& tensor, const TensorPlace& place) {
  const std::optional<DType> dtype = DTypeOfOnnx(tensor.data_type);
  if (!dtype) {
    return absl::UnimplementedError(absl::StrCat(tensor.data_type == kOnnxString ? "STRINGS" : "TYPE",
                                                 ": tensor '", absl::CHexEscape(tensor.name),
                                                 "' has elements of type ", OnnxTypeName(tensor.data_type)));
  }
  const absl::StatusOr<int64_t> bytes = DenseBytes(*dtype, tensor.dims);
  if (!bytes.ok()) return Bad(tensor, std::string(bytes.status().message()));
  if (*bytes > place.max_bytes) {
    return Bad(tensor, absl::StrCat("has ", *bytes, " bytes; the limit is ", place.max_bytes));
  }
  // The bytes in files bound the memory, so that a few bytes cannot ask for a lot.
  if (tensor.data_location == 1) {
    SINTER_ASSIGN_OR_RETURN(const ExternalData data, OpenExternal(tensor, place.folder, *bytes));
    SINTER_ASSIGN_OR_RETURN(HostTensor result, HostTensor::Empty(*dtype, tensor.dims));
    auto* const to = static_cast<std::byte*>(result.mutable_data());
    SINTER_RETURN_IF_ERROR(data.file.Read(data.offset, {to, static_cast<size_t>(*bytes)}));
    CleanBools(result);
    return result;
  }
  if (*bytes > BytesInFile(tensor)) {
    return Bad(tensor,
               absl::StrCat("needs ", *bytes, " bytes by its type and dimensions, and has less data"));
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor result, HostTensor::Empty(*dtype, tensor.dims));
  SINTER_RETURN_IF_ERROR(tensor.raw_data ? CopyRaw(tensor, *tensor.raw_data, result)
                                         : CopyFields(tensor, result));
  CleanBools(result);
  return result;
}

}  // namespace sinter::onnx
