#include "daemon/rpc/control/fetch_call.h"

#include <utility>

#include "base/threads/thread.h"

namespace profd::rpc {

using base::Status;

void FetchCall::Begin(const auth::Caller& caller, const v1::FetchRequest& request) {
  request_ = request;
  ctl_.Post([self = Self<FetchCall>(), caller] {
    const base::Result<session::StoredTrace> trace =
        self->manager_.Locate(caller, self->request_.session(), self->request_.directory());
    if (!trace.ok()) return self->FinishOnce(trace.status());
    base::Result<auth::Limits::Held> held = self->limits_.TakeFetch(caller);
    if (!held.ok()) return self->FinishOnce(held.status());
    if (const Status room = base::RoomForThreads(); !room.ok()) return self->FinishOnce(room);
    base::StartThread("fetch", [self, trace = *trace, held = *held] { self->Read(trace); }).detach();
  });
}

void FetchCall::Read(const session::StoredTrace& trace) {
  const Status status =
      store::ReadTrace(trace.spool, trace.user, trace.name, request_.from_path(), request_.from_offset(),
                       [this](const store::TracePiece& piece) { return Put(piece); });
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return !writing() || finished(); });
  FinishLocked(status);
}

bool FetchCall::Put(const store::TracePiece& piece) {
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return !writing() || finished(); });
  if (finished()) return false;
  piece_.set_path(piece.path);
  piece_.set_offset(piece.offset);
  piece_.set_data(piece.data.data(), piece.data.size());
  piece_.set_end_of_file(piece.end_of_file);
  piece_.set_crc32c(piece.crc32c);
  WriteLocked(&piece_);
  return true;
}

}  // namespace profd::rpc
