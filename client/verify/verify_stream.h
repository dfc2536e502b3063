// One stream of a PROF directory, slice by slice: its bytes against what its kind can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "client/verify/verify.h"
#include "client/verify/verify_parts.h"
#include "format/check/stream_check.h"
#include "format/chip.h"
#include "format/directory/side_facts.h"

namespace profd::client {

// **Thread:** one; different streams on different ones.
class StreamVerifier {
 public:
  struct Where {
    std::string side;    // "device_0"
    std::string folder;  // "device_0/data/"
    int data;            // open directory, the caller's
  };

  // What says how they lie.
  struct Records {
    format::Chip chip = format::Chip::kUnknown;
    bool cores_by_task = false;
  };

  // `slices`: not empty. The vendor's collector cuts slices inside records, profd never does.
  StreamVerifier(Where where, const std::string& file, std::set<uint64_t> slices, const Records& records,
                 bool by_profd);

  void Run();

  std::string name() const { return where_.side + "/" + file_; }
  const std::string& kind() const { return kind_; }
  bool is_known() const { return shape_.what != format::FileShape::What::kUnknown; }
  const std::vector<Complaint>& complaints() const { return complaints_; }
  uint64_t slices() const { return numbers_.size(); }
  uint64_t bytes() const { return bytes_; }
  FoundStream found() const;

 private:
  // Bytes that were read and not yet taken.
  struct Buffer {
    std::vector<std::byte> bytes;
    size_t held = 0;
  };

  void Complain(const std::string& file, const std::string& what, std::optional<uint64_t> offset = {});
  // Whole records from the front of it; `last`: everything.
  void Take(Buffer& buffer, bool last);
  uint64_t Slice(const std::string& name, Buffer& buffer, bool ends_whole);

  const Where where_;
  const std::string file_;
  const std::set<uint64_t> numbers_;
  const bool by_profd_;
  const std::string kind_;
  const bool needs_chip_;  // to be known
  format::FileShape shape_;
  format::StreamCheck check_;
  std::vector<Complaint> complaints_;
  uint64_t bytes_ = 0;
};

}  // namespace profd::client
