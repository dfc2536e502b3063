// The agent's one thread: finds profd, registers, obeys.
#pragma once

namespace profd::agent {

// Starts the thread, which rests for `grace_ms` first. Where it has been started already, ends its rest.
// **Thread:** any, in a prepared process.
void StartAttachThread(int grace_ms);

// Whether children that are forked from now on start an agent by themselves, in case they load what this
// process waits for. **Thread:** any.
void FollowChildren(bool follow);

void ResetAttachAfterFork();

}  // namespace profd::agent
