#include "sinter/frontend/onnx/read_onnx_file.h"

#include <concepts>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/onnx_fields.h"

namespace sinter::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

const char* NameOf(pbf_wire_type type) {
  switch (type) {
    case pbf_wire_type::varint:
      return "an integer";
    case pbf_wire_type::fixed64:
      return "8 bytes";
    case pbf_wire_type::length_delimited:
      return "a text or message";
    default:
      return "4 bytes";
  }
}

template <typename T>
concept NumberField = std::integral<T> || std::floating_point<T>;
template <typename T>
concept TextField = std::same_as<T, std::string> || std::same_as<T, std::string_view>;
template <typename T>
concept MessageField = std::is_class_v<T> && !TextField<T>;

template <NumberField Number>
constexpr pbf_wire_type WireTypeOf() {
  if constexpr (std::same_as<Number, float>) return pbf_wire_type::fixed32;
  if constexpr (std::same_as<Number, double>) return pbf_wire_type::fixed64;
  return pbf_wire_type::varint;
}

// Reads messages into structs. Errors of protozero are exceptions, which Read turns into a Status; `path_`
// then still has the place.
class MessageReader {
 public:
  template <typename Message>
  absl::Status Read(std::string_view bytes, Message& message) {
    try {
      ReadMessage(bytes, message);
    } catch (const protozero::end_of_buffer_exception&) {
      Fail("ends within a value");
    } catch (const protozero::varint_too_long_exception&) {
      Fail("has an integer of more than 64 bits");
    } catch (const protozero::invalid_length_exception&) {
      Fail("has a list whose bytes are no whole numbers");
    } catch (const protozero::exception&) {
      Fail("has a field of a kind or number that protobuf does not have");
    }
    return error_;
  }

 private:
  struct Step {
    const char* name;
    int64_t index;  // -1: no repeated field.
  };

  void Fail(const std::string& what) {
    if (!error_.ok()) return;
    std::string place;
    for (const Step& step : path_) {
      absl::StrAppend(&place, place.empty() ? "" : ".", step.name);
      if (step.index >= 0) absl::StrAppend(&place, "[", step.index, "]");
    }
    error_ = absl::InvalidArgumentError(absl::StrCat(place.empty() ? "the file" : place, ": ", what));
  }

  template <typename Message>
  void ReadMessage(std::string_view bytes, Message& message) {
    if (++depth_ > kDeepestOnnxMessage) {
      return Fail(absl::StrCat("more than ", kDeepestOnnxMessage, " messages in one another"));
    }
    pbf_reader in(bytes.data(), bytes.size());
    while (error_.ok() && in.next()) {
      const uint32_t number = in.tag();
      bool is_known = false;
      const auto read = [&](uint32_t field, const char* name, auto& member) {
        if (field != number) return;
        is_known = true;
        path_.push_back({name, -1});
        ReadField(in, member);
        if (error_.ok()) path_.pop_back();
      };
      VisitFields(read, message);
      if (!is_known) in.skip();
    }
    --depth_;
  }

  bool Expect(const pbf_reader& in, pbf_wire_type type) {
    if (in.has_wire_type(type)) return true;
    Fail(absl::StrCat("is ", NameOf(in.wire_type()), " in the file; it must be ", NameOf(type)));
    return false;
  }

  // Each message or text takes more memory than bytes of the file.
  bool Count() {
    if (++values_ <= kMostOnnxValues) return true;
    Fail(absl::StrCat("more than ", kMostOnnxValues, " messages and texts in the file"));
    return false;
  }

  template <NumberField Number>
  void ReadField(pbf_reader& in, Number& number) {
    if (!Expect(in, WireTypeOf<Number>())) return;
    if constexpr (std::same_as<Number, float>) {
      number = in.get_float();
    } else if constexpr (std::same_as<Number, double>) {
      number = in.get_double();
    } else {
      number = static_cast<Number>(in.get_uint64());
    }
  }

  template <TextField Text>
  void ReadField(pbf_reader& in, Text& text) {
    if (!Expect(in, pbf_wire_type::length_delimited) || !Count()) return;
    const protozero::data_view view = in.get_view();
    text = Text(view.data(), view.size());
  }

  template <MessageField Message>
  void ReadField(pbf_reader& in, Message& message) {
    if (!Expect(in, pbf_wire_type::length_delimited) || !Count()) return;
    const protozero::data_view view = in.get_view();
    ReadMessage(std::string_view(view.data(), view.size()), message);
  }

  // A message that comes twice is merged, as protobuf does.
  template <typename T>
  void ReadField(pbf_reader& in, std::optional<T>& value) {
    if (!value) value.emplace();
    ReadField(in, *value);
  }

  template <typename T>
  void ReadField(pbf_reader& in, Nested<T>& value) {
    if (!value.has_value()) value.emplace();
    ReadField(in, *value);
  }

  template <typename T>
  void ReadField(pbf_reader& in, std::vector<T>& values) {
    path_.back().index = static_cast<int64_t>(values.size());
    ReadField(in, values.emplace_back());
  }

  // Numbers, one a field, or all of them in one field.
  template <NumberField Number>
  void ReadField(pbf_reader& in, std::vector<Number>& numbers) {
    path_.back().index = static_cast<int64_t>(numbers.size());
    if (!in.has_wire_type(pbf_wire_type::length_delimited)) return ReadField(in, numbers.emplace_back());
    if constexpr (std::same_as<Number, float>) {
      for (const float number : in.get_packed_float()) numbers.push_back(number);
    } else if constexpr (std::same_as<Number, double>) {
      for (const double number : in.get_packed_double()) numbers.push_back(number);
    } else {
      for (const uint64_t number : in.get_packed_uint64()) numbers.push_back(static_cast<Number>(number));
    }
  }

  std::vector<Step> path_;
  absl::Status error_;
  int depth_ = 0;
  int64_t values_ = 0;
};

}  // namespace

absl::Status ReadOnnxFile(std::string_view bytes, ModelProto& model) {
  return MessageReader().Read(bytes, model);
}

absl::Status ReadOnnxFile(std::string_view bytes, TensorProto& tensor) {
  return MessageReader().Read(bytes, tensor);
}

absl::Status ReadOnnxFile(std::string_view bytes, SequenceProto& list) {
  return MessageReader().Read(bytes, list);
}

absl::Status ReadOnnxFile(std::string_view bytes, OptionalProto& optional) {
  return MessageReader().Read(bytes, optional);
}

}  // namespace sinter::onnx
