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

  /// Takes in the sequence of a finished request; one of the same conversation goes.
  void keep(Owner owner, std::unique_ptr<ServedSequence> sequence, double now);
  /// A sequence that continues with `prompt`: it, or a copy of it, holds the common prefix only.
  /// Null where none shares enough.
  std::unique_ptr<ServedSequence> take(const Owner& owner, std::span<const int32_t> prompt);
  /// Drops the one that was used least recently. Returns its bytes; 0 where none is left.
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

/// How many tokens at the front are equal.
int64_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b);

}  // namespace longhaul::serve
