// What MSPTI puts behind mstx calls while it is subscribed.
#pragma once

#include "sim/mspti/abi.h"

namespace profd::sim::mspti {

int InitMstx(GetMstxTable get_table);

}  // namespace profd::sim::mspti
