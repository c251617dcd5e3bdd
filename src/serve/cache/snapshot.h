#pragma once
// A snapshot is a clone of a sequence from which later prompts can resume. It also records how the
// tokens were computed.

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "serve/cache/leg.h"
#include "serve/scheduler/engine_port.h"

namespace longhaul::serve {

/// The properties that two sequences must have in common to share a snapshot. Each key has its own
/// tree of snapshots. Model, KV type and chunk size are not in the key, because all sequences of an
/// engine have the same.
struct TreeKey {
  std::string scope;         ///< API key and salt
  std::string method;        ///< the attention method in the form of `--attention`
  int64_t angles = 0;        ///< identifies the RoPE angles (EnginePort::angles_of())
  std::string adapter = {};  ///< name of the adapter (Job::adapter)
  auto operator<=>(const TreeKey&) const = default;
};

struct TreeNode;

struct Snapshot {
  /// The sequence in the memory of the engine. Null: the snapshot is only in host memory or on
  /// disk.
  std::unique_ptr<ServedSequence> sequence;
  /// A copy of the sequence in host memory beside a device (HostTier); null: there is none.
  std::unique_ptr<ServedSequence> on_host;
  std::vector<Leg> legs;
  TreeKey key;
  double seconds = 0;     ///< time that the computation of all tokens took, in seconds
  double kept_until = 0;  ///< time until which all other snapshots are evicted before this one
  bool marked = false;    ///< whether PrefixCache::drop_covered() must not remove the snapshot
  /// Whether the tokens were computed exactly as they would be without a cache.
  bool cold = true;
  int64_t instruction = 0;  ///< length of the prompt's last message, if whole_prompt is true
  /// Whether the snapshot ends with a prompt, and has the logits after its last token.
  bool whole_prompt = false;
  int leases = 0;  ///< number of jobs that share the pages of the snapshot
  /// Number of documents and sessions that need the snapshot; above 0, it is never evicted.
  int pins = 0;

  // The following members are set by PrefixCache.
  TreeNode* node = nullptr;
  size_t kv_bytes = 0, own_bytes = 0, overhead = 0;
  double uses = 1, priority = 0;

  /// Whether `sequence` is being copied to host memory, and must stay until that has ended.
  bool copying = false;
  /// Whether the memory of `sequence` is freed when it has been copied.
  bool leaving = false;
  bool unmovable = false;  ///< whether an attempt to copy it to host memory has failed

  // Members about the copy on disk (DiskStore).
  std::string file;  ///< empty: there is no file
  /// Tokens of the snapshot; set only while `sequence` and `on_host` are null.
  std::vector<int32_t> stored_tokens;
  size_t stored_bytes = 0;
  bool loading = false;  ///< whether it is coming back from host memory or from disk
  bool writing = false;
  bool unwritable = false;  ///< whether an attempt to write the file has failed

  /// Returns the sequence in memory, on the host or on a device; null: there is none.
  const ServedSequence* any_sequence() const {
    return sequence != nullptr ? sequence.get() : on_host.get();
  }
  std::span<const int32_t> tokens() const {
    const ServedSequence* const any = any_sequence();
    return any != nullptr ? any->tokens() : std::span<const int32_t>(stored_tokens);
  }
  bool has_logits() const {
    const ServedSequence* const any = any_sequence();
    return any != nullptr ? !any->logits().empty() : whole_prompt;
  }
};

}  // namespace longhaul::serve
