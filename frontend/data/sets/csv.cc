#include "sinter/frontend/data/sets/csv.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/frontend/data/sets/record_file.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

// Splits a record into its values.
absl::StatusOr<std::vector<std::string>> ParseRecord(const std::string& record, char delimiter) {
  std::vector<std::string> values;
  size_t at = 0;
  while (true) {
    std::string value;
    if (at < record.size() && record[at] == '"') {
      for (++at; at < record.size(); ++at) {
        if (record[at] != '"') {
          value += record[at];
        } else if (at + 1 < record.size() && record[at + 1] == '"') {
          value += record[++at];
        } else {
          break;
        }
      }
      ++at;  // The closing quote, which RecordFile has found.
      if (at < record.size() && record[at] != delimiter) {
        return absl::DataLossError(
            absl::StrCat("value ", values.size(), " has text behind its closing quote"));
      }
    } else {
      const size_t end = std::min(record.find(delimiter, at), record.size());
      value = record.substr(at, end - at);
      at = end;
      if (value.find('"') != std::string::npos) {
        return absl::DataLossError(
            absl::StrCat("value ", values.size(), ", ", value,
                         ", has a quote inside; quote it as a whole and write the quote twice"));
      }
    }
    values.push_back(std::move(value));
    if (at >= record.size()) return values;
    ++at;
  }
}

struct Column {
  size_t index = 0;
  std::string name;
};

class CsvSource : public Source {
 public:
  CsvSource(RecordFile file, std::vector<CsvField> fields, std::vector<std::vector<Column>> columns,
            size_t width, CsvOptions options)
      : file_(std::move(file)),
        fields_(std::move(fields)),
        columns_(std::move(columns)),
        width_(width),
        options_(options) {}

  int64_t size() const override { return file_.size() - (options_.has_header ? 1 : 0); }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const CsvField& field : fields_) names.push_back(field.name);
    return names;
  }

  absl::StatusOr<Example> Get(int64_t i, SplitMix&) const override {
    SINTER_ASSIGN_OR_RETURN(const std::string record, file_.Read(i + (options_.has_header ? 1 : 0)));
    const auto in_row = [&](absl::string_view what) {
      return absl::DataLossError(absl::StrCat(file_.path(), ": row ", i + 1, ": ", what));
    };
    const absl::StatusOr<std::vector<std::string>> values = ParseRecord(record, options_.delimiter);
    if (!values.ok()) return in_row(values.status().message());
    if (values->size() != width_) {
      return in_row(absl::StrCat("it has ", values->size(), " values for ", width_, " columns"));
    }
    Example example;
    for (size_t f = 0; f < fields_.size(); ++f) {
      absl::StatusOr<HostTensor> field = ParseField(fields_[f], columns_[f], *values);
      if (!field.ok()) return in_row(field.status().message());
      example.fields.push_back(*std::move(field));
    }
    return example;
  }

 private:
  absl::StatusOr<HostTensor> ParseField(const CsvField& field, const std::vector<Column>& columns,
                                        const std::vector<std::string>& values) const {
    if (field.text) return TextTensor(values[columns[0].index]);
    std::vector<int64_t> shape;
    if (columns.size() > 1) shape = {static_cast<int64_t>(columns.size())};
    const DType dtype = field.categories.empty() ? field.dtype : DType::kI32;
    SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Empty(dtype, std::move(shape)));
    auto* to = static_cast<std::byte*>(tensor.mutable_data());
    for (const Column& column : columns) {
      SINTER_RETURN_IF_ERROR(ParseValue(field, column.name, values[column.index], dtype, to));
      to += SizeOf(dtype);
    }
    return tensor;
  }

  absl::Status ParseValue(const CsvField& field, const std::string& column, const std::string& value,
                          DType dtype, std::byte* to) const {
    if (!field.categories.empty()) {
      const auto found = std::ranges::find(field.categories, value);
      if (found != field.categories.end()) return StoreNumber(found - field.categories.begin(), dtype, to);
      return absl::DataLossError(absl::StrCat("column '", column, "' is '", value,
                                              "', which is none of the categories ",
                                              absl::StrJoin(field.categories, ", ")));
    }
    const std::string text(absl::StripAsciiWhitespace(value));
    int64_t whole = 0;
    double real = 0;
    absl::Status stored;
    if (text.empty() && !options_.missing.has_value()) {
      return absl::DataLossError(
          absl::StrCat("column '", column, "' is empty; CsvOptions::missing can stand for it"));
    }
    if (text.empty()) {
      stored = StoreNumber(*options_.missing, dtype, to);
    } else if (absl::SimpleAtoi(text, &whole)) {
      stored = StoreNumber(whole, dtype, to);
    } else if (absl::SimpleAtod(text, &real)) {
      stored = StoreNumber(real, dtype, to);
    } else {
      stored = absl::DataLossError(
          absl::StrCat("'", value, "' is not a number of type ", std::string(DTypeName(dtype))));
    }
    if (stored.ok()) return stored;
    return absl::DataLossError(absl::StrCat("column '", column, "': ", stored.message()));
  }

  const RecordFile file_;
  const std::vector<CsvField> fields_;
  const std::vector<std::vector<Column>> columns_;  // Columns of each field.
  const size_t width_;                              // Number of the file's columns.
  const CsvOptions options_;
};

absl::Status CheckField(const CsvField& field) {
  if (field.name.empty() || field.columns.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("field '", field.name, "' of Csv needs a name and at least one column"));
  }
  if (!field.text || (field.columns.size() == 1 && field.categories.empty())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("field '", field.name, "' of Csv is text, which has one column and no categories"));
}

absl::StatusOr<std::vector<std::string>> ColumnNames(const RecordFile& file, const CsvOptions& options) {
  if (file.size() == 0) return absl::InvalidArgumentError(absl::StrCat(file.path(), " is empty"));
  SINTER_ASSIGN_OR_RETURN(const std::string first, file.Read(0));
  absl::StatusOr<std::vector<std::string>> names = ParseRecord(first, options.delimiter);
  if (!names.ok())
    return absl::DataLossError(absl::StrCat(file.path(), ": first line: ", names.status().message()));
  // Spreadsheets write the mark of UTF-8 in front.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (names->front().starts_with(kByteOrderMark)) names->front().erase(0, kByteOrderMark.size());
  if (!options.has_header) {
    for (size_t i = 0; i < names->size(); ++i) (*names)[i] = absl::StrCat(i);
  }
  return names;
}

}  // namespace

absl::StatusOr<Dataset> Csv(const std::string& path, std::vector<CsvField> fields,
                            const CsvOptions& options) {
  if (fields.empty()) return absl::InvalidArgumentError("Csv needs at least one field");
  SINTER_ASSIGN_OR_RETURN(RecordFile file, RecordFile::Open(path, RecordFile::Quotes::kQuoted));
  SINTER_ASSIGN_OR_RETURN(const std::vector<std::string> names, ColumnNames(file, options));
  std::vector<std::vector<Column>> columns;
  for (const CsvField& field : fields) {
    SINTER_RETURN_IF_ERROR(CheckField(field));
    columns.emplace_back();
    for (const std::string& name : field.columns) {
      const auto found = std::ranges::find(names, name);
      if (found == names.end() || std::find(found + 1, names.end(), name) != names.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, " has ", found == names.end() ? "no column" : "two columns", " '", name,
                         "'; its columns are ", absl::StrJoin(names, ", ")));
      }
      columns.back().push_back({static_cast<size_t>(found - names.begin()), name});
    }
  }
  return Dataset(std::make_shared<const CsvSource>(std::move(file), std::move(fields), std::move(columns),
                                                   names.size(), options));
}

}  // namespace sinter::data
