//===- Device.h - opening devices for the C API -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_API_DEVICE_H
#define FUSEC_LIB_API_DEVICE_H

#include "Objects.h"

namespace fusec::api {

/// Opens what a `fusec_target` and an ordinal name; `machine` overrides what
/// is planned for.
fusec_error *openDevice(std::shared_ptr<const Settings> settings,
                        fusec_target target, int32_t ordinal,
                        std::optional<TargetInfo> machine,
                        std::shared_ptr<const DeviceData> &result);

} // namespace fusec::api

#endif // FUSEC_LIB_API_DEVICE_H
