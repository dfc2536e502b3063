// In the order of --help. A new verb: its file, and a line here.
#include "client/verbs/all.h"

#define PROFD_VERBS(VERB) \
  VERB(Devices)           \
  VERB(Targets)           \
  VERB(List)              \
  VERB(Start)             \
  VERB(Run)               \
  VERB(Record)            \
  VERB(Msprof)            \
  VERB(Snapshot)          \
  VERB(Pause)             \
  VERB(Resume)            \
  VERB(Stop)              \
  VERB(Status)            \
  VERB(Watch)             \
  VERB(Top)               \
  VERB(Jobs)              \
  VERB(Dump)              \
  VERB(Ui)                \
  VERB(Pin)               \
  VERB(Unpin)             \
  VERB(Remove)            \
  VERB(Move)              \
  VERB(Lease)             \
  VERB(Fetch)             \
  VERB(Verify)            \
  VERB(Repair)            \
  VERB(Export)            \
  VERB(Query)             \
  VERB(Sql)               \
  VERB(Ship)              \
  VERB(Lake)              \
  VERB(Analyze)           \
  VERB(Compare)           \
  VERB(Report)            \
  VERB(Flame)             \
  VERB(Doctor)            \
  VERB(Capture)           \
  VERB(Tls)               \
  VERB(Auto)              \
  VERB(Completion)

namespace profd::client {

namespace verbs {
#define PROFD_DECLARE(Name) Verb Name();
PROFD_VERBS(PROFD_DECLARE)
}  // namespace verbs

const std::vector<Verb>& AllVerbs() {
#define PROFD_LIST(Name) verbs::Name(),
  static const std::vector<Verb> all = {PROFD_VERBS(PROFD_LIST)};
  return all;
}

}  // namespace profd::client
