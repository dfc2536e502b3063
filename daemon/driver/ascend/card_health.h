// How devices are, by the card library: asked again and again by a thread of its own as long as somebody
// wants to know, since the library takes its time, and may hang.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/driver/ascend/card_library.h"
#include "daemon/driver/driver.h"

namespace profd::driver {

// **Thread:** any. The thread "cards" ends when nobody has asked for a while; where the library hangs, it is
// left behind.
class CardHealth {
 public:
  explicit CardHealth(std::shared_ptr<Cards> cards);
  ~CardHealth();
  CardHealth(const CardHealth&) = delete;
  CardHealth& operator=(const CardHealth&) = delete;

  // What the device said last. Does not wait: the first time there is nothing yet.
  DeviceHealth Latest(uint32_t device);

 private:
  struct State;

  const std::shared_ptr<State> state_;
};

}  // namespace profd::driver
