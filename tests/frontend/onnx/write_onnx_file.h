// Writes the structs of ONNX files as protobuf messages, by protozero's writer.
//
//   std::string bytes = WriteOnnxFile(model, Lists::kUnpacked);
#ifndef SINTER_TESTS_FRONTEND_ONNX_WRITE_ONNX_FILE_H_
#define SINTER_TESTS_FRONTEND_ONNX_WRITE_ONNX_FILE_H_

#include <concepts>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/onnx/onnx_fields.h"

namespace sinter::onnx {

// Numbers of a list all in one field, or each in its own.
enum class Lists { kPacked, kUnpacked };

class OnnxFileWriter {
 public:
  explicit OnnxFileWriter(Lists lists) : lists_(lists) {}

  template <typename Message>
  std::string Write(const Message& message) {
    std::string bytes;
    protozero::pbf_writer out(bytes);
    Message copy = message;
    VisitFields([&](uint32_t number, const char*, auto& member) { Put(out, number, member); }, copy);
    return bytes;
  }

 private:
  template <typename T>
  void Put(protozero::pbf_writer& out, uint32_t number, const T& value) {
    if constexpr (std::integral<T> || std::floating_point<T>) {
      if (value != T()) PutOne(out, number, value);
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      if (!value.empty()) PutOne(out, number, value);
    } else {
      PutOne(out, number, value);
    }
  }

  template <typename T>
  void Put(protozero::pbf_writer& out, uint32_t number, const std::optional<T>& value) {
    if (value) PutOne(out, number, *value);
  }
  template <typename T>
  void Put(protozero::pbf_writer& out, uint32_t number, const Nested<T>& value) {
    if (value.has_value()) PutOne(out, number, *value);
  }
  template <typename T>
  void Put(protozero::pbf_writer& out, uint32_t number, const std::vector<T>& values) {
    if constexpr (std::integral<T> || std::floating_point<T>) {
      if (values.empty()) return;
      if (lists_ == Lists::kPacked) return PutPacked(out, number, values);
    }
    for (const T& value : values) PutOne(out, number, value);
  }

  template <typename T>
  void PutOne(protozero::pbf_writer& out, uint32_t number, const T& value) {
    if constexpr (std::same_as<T, float>) {
      out.add_float(number, value);
    } else if constexpr (std::same_as<T, double>) {
      out.add_double(number, value);
    } else if constexpr (std::same_as<T, uint64_t>) {
      out.add_uint64(number, value);
    } else if constexpr (std::integral<T>) {
      out.add_int64(number, value);
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      out.add_bytes(number, value.data(), value.size());
    } else {
      out.add_message(number, Write(value));
    }
  }

  template <typename T>
  static void PutPacked(protozero::pbf_writer& out, uint32_t number, const std::vector<T>& values) {
    if constexpr (std::same_as<T, float>) {
      out.add_packed_float(number, values.begin(), values.end());
    } else if constexpr (std::same_as<T, double>) {
      out.add_packed_double(number, values.begin(), values.end());
    } else if constexpr (std::same_as<T, uint64_t>) {
      out.add_packed_uint64(number, values.begin(), values.end());
    } else {
      out.add_packed_int64(number, values.begin(), values.end());
    }
  }

  Lists lists_;
};

template <typename Message>
std::string WriteOnnxFile(const Message& message, Lists lists = Lists::kPacked) {
  return OnnxFileWriter(lists).Write(message);
}

}  // namespace sinter::onnx

#endif  // SINTER_TESTS_FRONTEND_ONNX_WRITE_ONNX_FILE_H_
