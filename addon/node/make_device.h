// Devices by their names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device.h"

namespace framelane::node {

[[nodiscard]] Result<std::unique_ptr<Device>> make_device(const DeviceOptions& options);

// The GPUs of this machine; an error says why there is none. Opens the driver: in a process of its own, please.
// `library`: the driver's; empty: the system's own.
[[nodiscard]] Result<std::vector<DeviceInfo>> list_gpus(const std::string& library);

}  // namespace framelane::node
