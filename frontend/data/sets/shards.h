// Sets in tar files, as WebDataset writes them: many small files in a few large ones.
//
//   // photos-000.tar: 00017.jpg, 00017.cls, 00018.jpg, 00018.cls, ...
//   SINTER_ASSIGN_OR_RETURN(data::Dataset raw, data::Shards({"photos-000.tar"}, {"jpg", "cls"}));
//   data::Dataset set = raw.Map(data::DecodeImageField({}, 0)).Map(data::ParseIntegerField(1));
//
// Files that follow each other and have equal names up to the first dot (behind the last slash) are one
// example. What is behind that dot tells the field: each field is the bytes of the file, u8 [size]. Other
// files of an example are left out, and so are folders and links.
//
// The list of files is read when the set is made; examples are read when they are asked for, in any order, so
// shuffling needs no buffer. Tar files are plain, not compressed: those with long names in GNU's or POSIX's
// (pax) form too. Errors: DataLoss, with the file, for no tar file, a cut one, or a wrong checksum of a
// header; InvalidArgument for no path, no field, or an example that lacks a field (the message names it).
#ifndef SINTER_FRONTEND_DATA_SETS_SHARDS_H_
#define SINTER_FRONTEND_DATA_SETS_SHARDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/frontend/data/images/decode_image.h"

namespace sinter::data {

// `fields` are the endings, without a dot, and the names of the set.
absl::StatusOr<Dataset> Shards(const std::vector<std::string>& paths, const std::vector<std::string>& fields);

// Functions of Dataset::Map. DecodeImageField: the bytes of a JPEG or PNG file become an image
// (images/decode_image.h). ParseIntegerField: a number in decimal digits becomes i32 [].
MapFunction DecodeImageField(DecodeOptions options = {}, size_t field = 0);
MapFunction ParseIntegerField(size_t field);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_SETS_SHARDS_H_
