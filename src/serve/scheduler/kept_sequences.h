#pragma once
// Sequences of finished requests that wait for the next turn of their conversation.

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>

#include "serve/scheduler/engine_port.h"

namespace longhaul::serve {

class KeptSequences {
 public:
  explicit KeptSequences(size_t most) : most_(most) {}

  struct Owner {
    std::string key, conversation, attention;
    bool operator==(const Owner&) const = default;
  };

  /// Adds the sequence of a finished request and drops an older one of the same conversation.
  void keep(Owner owner, std::unique_ptr<ServedSequence> sequence, double now);
  /// Returns a sequence that continues with `prompt`: a kept one or a copy, cut to the common
  /// prefix. Null if no common prefix is long enough.
  std::unique_ptr<ServedSequence> take(const Owner& owner, std::span<const int32_t> prompt);
  /// Drops the least recently used sequence. Returns its bytes, or 0 if there is none.
  size_t evict();

  size_t bytes() const;
  size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    Owner owner;
    std::unique_ptr<ServedSequence> sequence;
    double used;
  };

  size_t most_;
  std::list<Entry> entries_;  ///< least recently used first
};

/// Length of the common prefix in tokens.
int64_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b);

}  // namespace longhaul::serve
