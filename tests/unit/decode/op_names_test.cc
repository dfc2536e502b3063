#include "format/op_names.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::format {
namespace {

TEST(OpNames, TypesOfOperators) {
  EXPECT_EQ(OpTypeOf("MatMul_23"), "MatMul");
  EXPECT_EQ(OpTypeOf("aclnnMatmul_MatMulCommon_MatMulV2"), "MatMulV2");
  EXPECT_EQ(OpTypeOf("trans_TransData_12"), "TransData");
  EXPECT_EQ(OpTypeOf("gradients/layer_3/Conv2D_7_1"), "Conv2D");
  EXPECT_EQ(OpTypeOf("SoftmaxV2"), "SoftmaxV2");
  for (const char* other : {"", "_", "7", "__", "te_matmul_1f__kernel0", "A_1", "Mat-Mul_2", "M\xFFx"})
    EXPECT_EQ(OpTypeOf(other), "") << other;
}

TEST(OpNames, TypesOfTasks) {
  EXPECT_EQ(OpTaskTypeOf("KERNEL_AICORE"), "AI_CORE");
  EXPECT_EQ(OpTaskTypeOf("KERNEL_AIVEC"), "AI_VECTOR_CORE");
  EXPECT_EQ(OpTaskTypeOf("KERNEL_MIX_AIV"), "MIX_AIV");
  EXPECT_EQ(OpTaskTypeOf("MEMCPY_ASYNC"), "MEMCPY_ASYNC");
}

TEST(OpNames, Collectives) {
  EXPECT_EQ(CollectiveTypeOf("hcom_allReduce__721_4_1"), "hcom_allReduce_");
  EXPECT_EQ(CollectiveTypeOf("hcom_allReduce__483_0"), "hcom_allReduce_");
  EXPECT_EQ(CollectiveTypeOf("HcclBarrier"), "HcclBarrier");
  // By hand: "ab" is 97 * 29 + 98 and 97 * 131 + 98.
  EXPECT_EQ(CannHash("ab"), uint64_t{2911} << 32 | 12805);
  const std::string last = std::to_string(uint64_t{2911} << 32 | 12805);
  EXPECT_EQ(CollectiveName("HcclAllReduce", "ab", 4),
            "hcom_allReduce__" + last.substr(last.size() - 3) + "_4_1");
  EXPECT_EQ(CollectiveName("hcom_send", "", 0), "hcom_send__000_0_1");
}

}  // namespace
}  // namespace profd::format
