// The host-device link that collectors used for AI CPU data before the driver had a channel for it. The
// simulated device offers no such service: every call says so, and a collector goes on without.
#include <cstdint>

#include "sim/abi.h"
#include "sim/hal/exports/export.h"

namespace {
constexpr int kNone = profd::sim::code::kNotSupported;
}  // namespace

PROFD_SIM_EXPORT int drvHdcGetCapacity(void*) { return kNone; }
PROFD_SIM_EXPORT int drvHdcClientCreate(void**, int, int, int) { return kNone; }
PROFD_SIM_EXPORT int drvHdcClientDestroy(void*) { return kNone; }
PROFD_SIM_EXPORT int drvHdcServerCreate(int, int, void**) { return kNone; }
PROFD_SIM_EXPORT int drvHdcServerDestroy(void*) { return kNone; }
PROFD_SIM_EXPORT int drvHdcSessionAccept(void*, void**) { return kNone; }
PROFD_SIM_EXPORT int drvHdcSessionConnect(int, int, void*, void**) { return kNone; }
PROFD_SIM_EXPORT int halHdcSessionConnectEx(int, int, int, void*, void**) { return kNone; }
PROFD_SIM_EXPORT int drvHdcSessionClose(void*) { return kNone; }
PROFD_SIM_EXPORT int drvHdcSetSessionReference(void*) { return kNone; }
PROFD_SIM_EXPORT int drvHdcAllocMsg(void*, void**, int) { return kNone; }
PROFD_SIM_EXPORT int drvHdcFreeMsg(void*) { return kNone; }
PROFD_SIM_EXPORT int drvHdcReuseMsg(void*) { return kNone; }
PROFD_SIM_EXPORT int drvHdcAddMsgBuffer(void*, char*, int) { return kNone; }
PROFD_SIM_EXPORT int drvHdcGetMsgBuffer(void*, int, char**, int*) { return kNone; }
PROFD_SIM_EXPORT int halHdcSend(void*, void*, uint64_t, uint32_t) { return kNone; }
PROFD_SIM_EXPORT int halHdcRecv(void*, void*, int, uint64_t, int*, uint32_t) { return kNone; }
PROFD_SIM_EXPORT int halHdcGetSessionAttr(void*, int, int*) { return kNone; }
