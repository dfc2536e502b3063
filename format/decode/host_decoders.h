// Factories of the decoders of what was sampled in /proc and by tools; catalogue.cc names them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "format/decode/decoder.h"

namespace profd::format {

using MakeHostDecoder = std::unique_ptr<Decoder>(const DecodeContext& context, std::string_view file,
                                                 int64_t pid);

MakeHostDecoder MakeHostCpu, MakeHostMem, MakeHostDisk, MakeHostNetwork;
// Files of TimeStamp blocks, on the host and on the device's own OS.
MakeHostDecoder MakeCpuUsage, MakeProcessCpu, MakeSysMem, MakeProcessMem;
MakeHostDecoder MakeSyscalls, MakePthreadCalls;
MakeHostDecoder MakePerfSamples, MakeTsCpu;
// profd's own.
MakeHostDecoder MakeHostCounters;

}  // namespace profd::format
