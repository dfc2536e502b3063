// A setting of the manifest: the devices of the recording are no hardware. Its value says why that is known.
#pragma once

namespace profd::format {

inline constexpr char kSimulatedDevices[] = "simulated_devices";

}  // namespace profd::format
