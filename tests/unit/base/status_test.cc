#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace profd::base {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Status{Code::kInvalidArgument, "odd"};
  return value / 2;
}

Result<int> Quarter(int value) {
  PROFD_ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(StatusTest, ErrorsPassThroughAndValuesCompute) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_EQ(Quarter(7).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Quarter(8).status().ok());
}

TEST(StatusTest, ResultHoldsWhatCanOnlyMove) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 3);
}

TEST(StatusTest, ErrnoBecomesACodeAndAText) {
  EXPECT_EQ(Status::FromErrno("open x", ENOENT).code(), Code::kNotFound);
  EXPECT_EQ(Status::FromErrno("open x", EACCES).code(), Code::kPermissionDenied);
  EXPECT_EQ(Status::FromErrno("write x", ENOSPC).code(), Code::kResourceExhausted);
  EXPECT_EQ(Status::FromErrno("write x", EIO).code(), Code::kInternal);
  EXPECT_EQ(Status::FromErrno("open x", ENOENT).message(), "open x: No such file or directory");
}

}  // namespace
}  // namespace profd::base
