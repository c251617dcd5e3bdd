#pragma once
// A snapshot: a clone of a sequence that later prompts may continue, with the way in which its
// tokens were read.

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "serve/cache/leg.h"
#include "serve/scheduler/engine_port.h"

namespace longhaul::serve {

/// Snapshots of two keys share nothing. The other settings that matter (model, KV type, chunk,
/// adapters) are the same for all sequences of an engine.
struct TreeKey {
  std::string scope;   ///< API key and salt
  std::string method;  ///< text of the attention method
  int64_t angles = 0;  ///< EnginePort::angles_of
  auto operator<=>(const TreeKey&) const = default;
};

struct TreeNode;

struct Snapshot {
  std::unique_ptr<ServedSequence> sequence;  ///< null: only on disk
  std::vector<Leg> legs;
  TreeKey key;
  double seconds = 0;         ///< computing time of all its tokens
  double kept_until = 0;      ///< until then all others are evicted first
  bool marked = false;        ///< stays when a longer snapshot covers it
  bool cold = true;           ///< its prefilled tokens were read as without a cache
  int64_t instruction = 0;    ///< length of the prompt's last message, for whole_prompt
  bool whole_prompt = false;  ///< it has the logits after a prompt
  int leases = 0;             ///< jobs that share its pages
  int pins = 0;               ///< documents and sessions: never evicted

  // These belong to the cache.
  TreeNode* node = nullptr;
  size_t kv_bytes = 0, own_bytes = 0, overhead = 0;
  double uses = 1, priority = 0;

  // On disk (DiskStore).
  std::string file;                    ///< empty: none
  std::vector<int32_t> stored_tokens;  ///< while it is only on disk
  size_t stored_bytes = 0;
  bool loading = false, writing = false;
  bool unwritable = false;  ///< an attempt failed

  std::span<const int32_t> tokens() const {
    return sequence != nullptr ? sequence->tokens() : std::span<const int32_t>(stored_tokens);
  }
  bool has_logits() const {
    return sequence != nullptr ? !sequence->logits().empty() : whole_prompt;
  }
};

}  // namespace longhaul::serve
