// Factories of the decoders, one per file kind; catalogue.cc names them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "format/decode/decoder.h"

namespace profd::format {

using MakeDecoder = std::unique_ptr<Decoder>(const DecodeContext& context, std::string_view file,
                                             int64_t pid);

MakeDecoder MakeHbm, MakeDdr, MakeLlc, MakeLlcText, MakeNpuMem, MakeNpuModuleMem;
MakeDecoder MakePcie, MakeHccs, MakeUb;
MakeDecoder MakeNic, MakeRoce, MakeNetdev;
MakeDecoder MakeDvpp, MakeLowPower, MakeQos, MakeStars, MakeCores, MakeStepTrace;
MakeDecoder MakeL2Cache, MakeSocPmu;
MakeDecoder MakeCcuMissions, MakeCcuChannels;
MakeDecoder MakeInstrOfAiCore, MakeInstrOfVectorCore, MakeInstrEvents;

}  // namespace profd::format
