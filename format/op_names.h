// What the names of operators, tasks and collectives say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace profd::format {

// "MatMul" of "MatMul_23", "MatMulV2" of "aclnnMatmul_MatMulCommon_MatMulV2"; "" of a name that is not formed
// so.
std::string_view OpTypeOf(std::string_view kernel);
// "AI_CORE" of "KERNEL_AICORE": as operators have it; what is no kernel keeps its name.
std::string_view OpTaskTypeOf(std::string_view task_type);

// "hcom_allReduce_" of "hcom_allReduce__483_0_1": without the numbers of the group and the call.
std::string_view CollectiveTypeOf(std::string_view name);
// "hcom_allReduce__483_4_1": the call number 4 of "hcom_allReduce" or "HcclAllReduce" in a group.
std::string CollectiveName(std::string_view name, std::string_view group, uint32_t number);
// The number that the vendor's libraries give a text: of an operator's name; of a group, whose last three
// digits are in the names of its collectives.
uint64_t CannHash(std::string_view text);

}  // namespace profd::format
