// Says that it is a Python 3.11 and has in the interpreter's structures what nobody should believe: lists
// without an end, frames that are their own callers, a text of 2^62 characters, pointers to nowhere.
#include <sys/prctl.h>

#include <csignal>
#include <cstdint>
#include <cstring>

namespace {

volatile unsigned sink;
volatile bool hostile = true;

struct Record {
  uint64_t tracing;
  void* frame;
  Record* previous;
};
alignas(16) char frame[80], code[192], name[128], interpreter[64], thread[128];

void Put(char* object, unsigned at, const void* value) { std::memcpy(object + at, &value, sizeof value); }
void Put(char* object, unsigned at, uint64_t value) { std::memcpy(object + at, &value, sizeof value); }

}  // namespace

extern "C" {
unsigned long Py_Version = 0x030b07f0;
char _PyRuntime[4096];
char PyCode_Type[64];

[[gnu::noinline]] void _PyEval_EvalFrameDefault(Record* outer) {
  Record record{0, frame, outer};
  Put(thread, 56, &record);
  while (hostile) {
    for (unsigned i = 0; i < 100'000; ++i) sink = sink * 31 + i;
    // Now with a name, then with none that can be read, then without a code.
    Put(code, 128,
        sink % 3 == 0 ? static_cast<void*>(name) : reinterpret_cast<void*>(uint64_t{0xdead000000000008}));
    Put(frame, 32,
        sink % 5 == 0 ? reinterpret_cast<void*>(uint64_t{0xfffffffffffffff8}) : static_cast<void*>(code));
  }
  sink = static_cast<unsigned>(reinterpret_cast<uint64_t>(record.previous));
}
}

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Put(_PyRuntime, 40, interpreter);
  Put(interpreter, 16, thread);
  Put(thread, 8, thread);  // after it comes itself
  Put(frame, 48, frame);
  Put(code, 8, PyCode_Type);
  Put(code, 112, name);
  Put(name, 16, uint64_t{1} << 62);
  Put(name, 32, uint64_t{4 << 2 | 1 << 5});
  _PyEval_EvalFrameDefault(nullptr);
}
