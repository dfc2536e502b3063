// What the numbers in records of collectives and copies mean. Source: the vendor's analyser,
// csrc/domain/services/persistence/host/ number_mapping.cpp, and its tables ENUM_HCCL_*,
// ENUM_MEMCPY_OPERATION.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace profd::format {

struct CommWord {
  int number;
  std::string_view name;
};

inline constexpr CommWord kCommDataTypes[] = {
    {0, "INT8"},    {1, "INT16"}, {2, "INT32"},    {3, "FP16"},     {4, "FP32"},     {5, "INT64"},
    {6, "UINT64"},  {7, "UINT8"}, {8, "UINT16"},   {9, "UINT32"},   {10, "FP64"},    {11, "BFP16"},
    {12, "INT128"}, {14, "HIF8"}, {15, "FP8E4M3"}, {16, "FP8E5M2"}, {17, "FP8E8M0"}, {255, "RESERVED"}};
inline constexpr CommWord kCommLinks[] = {{0, "ON_CHIP"}, {1, "HCCS"},      {2, "PCIE"},          {3, "ROCE"},
                                          {4, "SIO"},     {5, "HCCS_SW"},   {6, "STANDARD_ROCE"}, {7, "UB"},
                                          {8, "UBoE"},    {255, "RESERVED"}};
inline constexpr CommWord kCommTransports[] = {{0, "SDMA"}, {1, "RDMA"}, {2, "LOCAL"},
                                               {3, "UB"},   {4, "ROCE"}, {255, "RESERVED"}};
inline constexpr CommWord kCommRdma[] = {
    {0, "RDMA_SEND_NOTIFY"}, {1, "RDMA_SEND_PAYLOAD"}, {255, "RESERVED"}};
inline constexpr CommWord kCopyOperations[] = {
    {0, "host to host"},   {1, "host to device"},        {2, "device to host"},    {3, "device to device"},
    {4, "managed memory"}, {5, "addr device to device"}, {6, "host to device ex"}, {7, "device to host ex"}};
inline constexpr CommWord kOtherCopy = {65535, "other"};
// How groups end in whose collectives operators take part (MC2), carried out by AI CPUs.
inline constexpr std::string_view kOfOperator = " Aicpu";
inline constexpr std::string_view kNoCommWord = "INVALID_TYPE";  // of any other number

inline std::string_view CommWordOf(std::span<const CommWord> words, uint32_t number) {
  for (const CommWord& word : words)
    if (static_cast<uint32_t>(word.number) == number) return word.name;
  return kNoCommWord;
}

}  // namespace profd::format
