// What CANN's own collector records on the host and is read as a whole: names, when which model ran, and what
// concerns operators but none of their tasks.
#pragma once

#include <map>
#include <string_view>

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "client/export/read/sinks.h"
#include "client/export/read/sources/tasks/ai_cpu_collectives.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/captures.h"
#include "format/decode/cann/model_calls.h"
#include "format/decode/span_writer.h"

namespace profd::client {

void ReadNames(const Capture& capture, const Side& host, const Sinks& sinks, format::CannNames& names);

// Of programs that CANN reported of to profd's agents, if there are several: the processes of their threads.
// A thread's number is that of its own pid namespace.
std::map<uint32_t, int64_t> ReadThreads(const Capture& capture);

// What models are called, by number; read, counted and complained of elsewhere, too.
std::map<uint32_t, format::TextId> ReadModelNames(const Capture& capture, const Side& host,
                                                  format::CannNames& names);

// Of the files of calls, which are read, counted and complained of as such elsewhere.
void ReadModelCalls(const Capture& capture, const Side& host, const Sinks& sinks, format::ModelCalls& models);

inline constexpr std::string_view kLogicStreams = "additional.logic_stream_info";
// Of streams that are one to the framework: its number of them.
std::map<uint32_t, uint32_t> ReadLogicStreams(const Capture& capture, Report& report);

// A file, without "aging." and "unaging.", that ReadCaptures() reads.
bool IsOfCaptures(std::string_view file);
void ReadCaptures(const Capture& capture, const Side& host, const Sinks& sinks, format::Captures& captures);

// The dictionaries that ReadNames() reads, without "aging." and "unaging.".
inline constexpr std::string_view kHashNames = "additional.hash_dic", kTypeNames = "additional.type_info_dic";

inline constexpr std::string_view kCommStreams = "additional.mc2_comm_info";
void ReadCommStreams(const Capture& capture, const Side& host, const Sinks& sinks, CommStreams& streams);

// A file, without "aging." and "unaging.", that GiveOperatorRecords() reads.
bool IsOfOperators(std::string_view file);
void GiveOperatorRecords(const Capture& capture, const Side& host, const Wanted& wanted, const Sinks& sinks,
                         format::CannNames& names, const format::ModelCalls& models,
                         format::SpanWriter& spans);

}  // namespace profd::client
