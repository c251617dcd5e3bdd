#pragma once
// SequenceCopy copies a sequence from a device to pinned host memory, or back. The copy is a
// sequence too. Both have the same contents: equal tokens then yield bitwise equal results on the
// device. The thread of the device's queue never waits for the copies of keys and values.

#include <atomic>
#include <memory>
#include <string>

#include "engine/host_memory.h"
#include "engine/sequence.h"

namespace longhaul {

/// Two sequences with the same contents, in the memory of the copied sequence (`here`) and in the
/// other memory (`there`). Pages that the copied sequence shares with `here` are not copied again:
/// the copy shares them with `there`. Null: there are none.
struct SequenceTwins {
  const Sequence* here = nullptr;
  const Sequence* there = nullptr;
};

/// Use it on the thread of the device's queue only.
class SequenceCopy {
 public:
  /// Returns whether a sequence can be copied at all: it must be on one device, with all pages in
  /// memory.
  static bool can_copy(const Sequence& from);

  /// Begins to copy `from`, which must stay as it is until done(). If `from` is on a device, the
  /// copy is in host memory, otherwise on the device of `options`. If `pinned` is false, pages in
  /// host memory are not taken from `memory`; such a copy is short-lived, for example for a file.
  SequenceCopy(std::shared_ptr<HostMemory> memory, const Sequence& from,
               const SessionOptions& options, const SequenceTwins& twins, bool pinned = true);
  /// Waits until no copy uses the memory of the two sequences.
  ~SequenceCopy();
  SequenceCopy(const SequenceCopy&) = delete;
  SequenceCopy& operator=(const SequenceCopy&) = delete;

  /// Continues a copy to a device, for about `seconds`: device memory is allocated on this thread.
  /// Throws UserError if the device's memory is full. A copy to the host needs no calls.
  void advance(double seconds);
  /// Returns whether the copy has ended.
  bool done() const;
  /// Returns the reason why the copy failed; empty: it did not.
  std::string error() const;
  /// Returns the bytes of device memory that will still be allocated.
  size_t bytes_left() const;
  /// Returns the copy. It must have ended without an error.
  Sequence take();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace longhaul
