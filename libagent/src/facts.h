// What the agent tells profd about its process.
#pragma once

#include <cstddef>

#include "profd/v1/agent.nanopb.h"

namespace profd::agent {

// Fills a zeroed hello. Reads /proc, never the live environment. **Thread:** any.
void DescribeProcess(profd_v1_AgentHello* hello);

// What it can record, and which devices it has open, as things are now. Fills a zeroed message. **Thread:**
// the attach thread.
void DescribeCapabilities(profd_v1_AgentCapabilities* capabilities);

// The labels in an environment block (NAME=value, each zero-terminated), as /proc/self/environ holds it.
void ReadLabels(const char* environment, size_t bytes, profd_v1_AgentHello* hello);

// A variable as the process was started with it. False: it isn't set, or too long. **Thread:** any.
bool EnvironmentValue(const char* name, char* value, size_t value_bytes);

// Copies text into a field, cut to fit, always zero-terminated, bytes that are not UTF-8 replaced by '?'.
void CopyText(char* field, size_t field_bytes, const char* text, size_t text_bytes);

}  // namespace profd::agent
