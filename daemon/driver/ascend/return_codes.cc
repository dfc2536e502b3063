// The library's two code spaces, PROF_* (negative) and drvError_t (positive), mixed in one int.
#include <iterator>

#include "daemon/driver/driver.h"

namespace profd::driver {

namespace {

struct CodeText {
  int code;
  const char* text;
};

constexpr CodeText kTexts[] = {
    {0, "no error"},
    {-1, "the driver refused the call or lacks the function; look at its log"},
    {-2, "the device did not answer in time; try again"},
    {-3, "channel is started already by this process"},
    {-4, "channel is not started, or stopped already"},
    {-5, "the call was interrupted; try again"},
    {-6, "no readable data"},
    {-7, "the device does not support this channel"},
    {-8, "the device is busy; try again"},
    {-9, "the driver is short of buffers; stop another collection first"},
    {-10, "channel is held by another process on this node; stop the other profiler and try again"},
    {-11, "all channels of this virtual device are in use; stop another collection first"},
    {-12, "a container profiles this device; host and container cannot at once"},
    {-13, "the host profiles this device; host and container cannot at once"},
    {1, "no such device, or it belongs to another container"},
    {2, "invalid device"},
    {3,
     "the driver refused the arguments, or /dev/davinci_manager cannot be opened; run profd as root or in "
     "group "
     "HwHiAiUser"},
    {4, "invalid handle, or the device process refused to start"},
    {6, "the driver is out of memory"},
    {7,
     "the device or the driver failed inside, or its device node cannot be opened; look at the driver's log"},
    {8, "bad parameter"},
    {9, "the driver is not initialised; is the device up?"},
    {10, "registered already"},
    {11, "does not exist"},
    {13, "the device is busy; try again"},
    {14, "the driver is out of resources; stop another collection first"},
    {16, "the device did not answer in time; is it hung?"},
    {17, "an ioctl of the driver failed; run profd as root or in group HwHiAiUser"},
    {30, "channel is started, stopping or flushing already; try again"},
    {36, "nothing at the moment"},
    {40, "no memory for the channel's ring; stop another collection first"},
    {46, "operation not permitted"},
    {58, "the start parameters are too long for this driver"},
    {62, "no such process on the device"},
    {81, "the connection to the device was closed"},
    {87, "the device is in use elsewhere; it may belong to a container"},
    {88, "no permission; run profd as root or in group HwHiAiUser"},
    {98, "the driver gave up on the call"},
    {115, "no compute process uses the device yet; start the workload first"},
    {kBiuLoss, "part of the data was lost on the device; what was delivered is valid"},
    {kNotSupported, "the driver or the device does not support it"},
};

}  // namespace

std::string DescribeCode(int code) {
  const char* text = "unknown code of the driver";
  for (const CodeText& entry : kTexts) {
    if (entry.code == code) text = entry.text;
  }
  return std::string(text) + " (" + std::to_string(code) + ")";
}

}  // namespace profd::driver
