// What the shims share: a foreign message as an event.
#pragma once

#include "libagent/include/profd/agent.h"

namespace profd::agent {

// An event of up to three values; the message is its name, or its payload `message` when there is no room for
// names.
struct ForeignEvent {
  profd_event event;
  profd_value values[3];

  ForeignEvent(profd_domain domain, const char* message)
      : event{sizeof(event), domain, 0, 0, values, 0}, values{} {
    event.name = profd_intern(message);
    if (event.name == 0 && message != nullptr && *message != '\0') {
      profd_value& value = Add("message", PROFD_TEXT);
      value.as.text = message;
    }
  }
  ForeignEvent(const ForeignEvent&) = delete;
  ForeignEvent& operator=(const ForeignEvent&) = delete;

  profd_value& Add(const char* key, profd_type type) {
    profd_value& value = values[event.value_count++];
    value.key = profd_intern(key);
    value.type = type;
    return value;
  }
};

// Recording, or not started yet (then a call starts the agent).
inline bool IsOn() { return __atomic_load_n(&profd_agent_active, __ATOMIC_RELAXED) != 0; }

}  // namespace profd::agent
