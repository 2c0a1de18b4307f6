// All attributes of the dialect `sinter`, for one generated parser.
#ifndef SINTER_IR_ATTRIBUTES_TD
#define SINTER_IR_ATTRIBUTES_TD

include "sinter/ir/dialect/device_attr.td"
include "sinter/ir/dialect/mesh_attr.td"

#endif  // SINTER_IR_ATTRIBUTES_TD
