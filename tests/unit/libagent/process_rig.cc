#include "tests/unit/libagent/process_rig.h"

namespace profd::agent::testing {

const std::string kAgent = std::string(PROFD_BUILD_DIR) + "/lib/libprofd_agent.so";
const std::string kPrograms = std::string(PROFD_BUILD_DIR) + "/tests/libagent_programs/";

}  // namespace profd::agent::testing
