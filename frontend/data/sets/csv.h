// Tables in CSV files: comma-separated values after RFC 4180, with quoted fields.
//
//   // sepal_length,sepal_width,species
//   // 5.1,3.5,setosa
//   SINTER_ASSIGN_OR_RETURN(data::Dataset iris, data::Csv("iris.csv", {
//       {.name = "x", .columns = {"sepal_length", "sepal_width"}},                       // f32 [2]
//       {.name = "t", .columns = {"species"}, .categories = {"setosa", "virginica"}},    // i32 []
//   }));
//
// Example i is row i below the header. A field of one column is a scalar, a field of several is a vector. A
// field in double quotes may contain delimiters, line breaks, and quotes written twice. The file may be
// larger than the main memory: 8 bytes are kept for each row.
//
// Errors when the set is made: InvalidArgument for a column that the header lacks (the message lists those
// it has), no fields, two columns of one name, a type that is no number; DataLoss for a quote that is not
// closed. When a row is read: DataLoss with the file, the row (from 1, below the header) and the column, for
// another number of values than columns, a value that is no number of the type or no category, an empty value
// without `missing`, and text behind a closing quote.
#ifndef SINTER_FRONTEND_DATA_SETS_CSV_H_
#define SINTER_FRONTEND_DATA_SETS_CSV_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/runtime/host/dtype.h"

namespace sinter::data {

struct CsvField {
  std::string name;
  std::vector<std::string> columns;  // By the names in the header; without a header "0", "1", ...
  DType dtype = DType::kF32;         // Any type of numbers.
  // If not empty: the values are these words, and the field is their numbers, from 0, as i32.
  std::vector<std::string> categories = {};
  bool text = false;  // The field is the bytes of the value, u8 [length]. For one column.
};

struct CsvOptions {
  char delimiter = ',';
  bool has_header = true;
  std::optional<double> missing = std::nullopt;  // Stands for an empty value of a number. nullopt: an error.
};

absl::StatusOr<Dataset> Csv(const std::string& path, std::vector<CsvField> fields,
                            const CsvOptions& options = {});

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_SETS_CSV_H_
