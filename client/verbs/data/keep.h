// What pin, unpin, rm and mv say.
#pragma once

#include <string>

#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/verbs/verb.h"

namespace profd::client {

inline ExitCode ShowKept(const Context& context, const base::Result<v1::SessionInfo>& info,
                         const std::string& done) {
  if (!info.ok()) return context.Fail(info.status());
  context.Print(context.json ? SessionJson(*info) : "session " + info->session() + " " + done + "\n");
  return ExitCode::kOk;
}

}  // namespace profd::client
