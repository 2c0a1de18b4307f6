// All public headers of the runtime: everything that a program needs to run plans.
//
//   #include "sinter/runtime.h"
//
// A program that builds or compiles models includes sinter/sinter.h, which has these headers too.
#ifndef SINTER_RUNTIME_RUNTIME_H_
#define SINTER_RUNTIME_RUNTIME_H_

#include "sinter/runtime/device/profile.h"
#include "sinter/runtime/device/tuning.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/formats/npy.h"
#include "sinter/runtime/formats/npz.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/named_tensor.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/runtime/world/world.h"

#endif  // SINTER_RUNTIME_RUNTIME_H_
