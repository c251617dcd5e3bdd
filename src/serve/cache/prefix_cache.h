#pragma once
// The prefix cache: trees of snapshots from which later prompts resume.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "serve/cache/cut_points.h"
#include "serve/cache/snapshot_tree.h"

namespace longhaul::serve {

/// A prompt as the cache sees it.
struct CacheQuery {
  std::string scope;  ///< API key and salt
  std::string method;
  ResumeRule rule;
  int64_t angles = 0;
  std::span<const int32_t> prompt;
  std::span<const int64_t> cuts;  ///< cut_points() of the prompt
  int64_t instruction = 0;
  bool memory_only = false;  ///< no snapshots that are only on disk
};

/// The resume point of a prompt.
struct Resume {
  std::shared_ptr<Snapshot> snapshot;  ///< null: nothing is reused
  int64_t tokens = 0;                  ///< reused tokens
  bool whole = false;                  ///< the whole prompt, with its logits
  bool exact = true;                   ///< bit-identical to a cold prefill
  bool dense = false;  ///< the snapshot is of dense attention, the prompt's method is another
  /// A depth at which the prompt parts from cached ones and where a snapshot should be kept; 0:
  /// none.
  int64_t branch = 0;
};

class PrefixCache {
 public:
  /// `exact`: only resume points that are bit-identical to a cold prefill (`--exact-cache`).
  explicit PrefixCache(bool exact) : exact_(exact) {}

  /// The best resume point. Counts as a use of the snapshot only when leased.
  Resume find(const CacheQuery& query) const;
  /// As long as a job has a lease, the snapshot is not evicted.
  void lease(Snapshot& snapshot);
  void release(Snapshot& snapshot);

  /// Adds a snapshot, unless there is one of the same tokens that is as good. Returns the one that
  /// the tree has now; null if the sequence is too short to be worth it.
  std::shared_ptr<Snapshot> insert(std::shared_ptr<Snapshot> snapshot);
  /// Removes older snapshots that a longer one of the same conversation, at `snapshot`, makes
  /// superfluous: those of at most `tokens` tokens.
  void drop_covered(const Snapshot& snapshot, int64_t tokens);
  /// Evicts the snapshot with the least value; one that is also on disk can be found further on.
  /// Returns whether there was one.
  bool evict(double now);
  /// Removes all snapshots of these tokens and longer ones. Pinned ones stay. Returns their number.
  int erase(const TreeKey& key, std::span<const int32_t> tokens);
  void remove(Snapshot& snapshot);
  /// Frees the memory of all snapshots that are also on disk, except for those that jobs use.
  /// Returns their number.
  int unload_stored();
  /// Gives a snapshot that was only on disk its sequence.
  void fill(Snapshot& snapshot, std::unique_ptr<ServedSequence> sequence);

  /// Called with the file of a snapshot that is no longer useful.
  std::function<void(const std::string& file)> on_drop;

  size_t count() const { return all_.size(); }
  /// Bytes beside the pages of keys and values.
  size_t overhead() const { return overhead_; }
  /// Bytes of keys and values in memory that cannot be evicted.
  size_t leased_bytes() const { return leased_bytes_; }
  const std::vector<Snapshot*>& all() const { return all_; }

 private:
  Resume find_at_any_depth(const SnapshotTree& tree, const CacheQuery& query) const;
  Resume find_at_ends(const SnapshotTree& tree, const CacheQuery& query) const;
  const SnapshotTree* tree_of(const CacheQuery& query, const std::string& method) const;
  void unload(Snapshot& snapshot);
  bool verified(const Resume& resume, const CacheQuery& query) const;
  double value_of(const Snapshot& snapshot) const;

  bool exact_;
  std::map<TreeKey, SnapshotTree> trees_;
  std::vector<Snapshot*> all_;
  size_t overhead_ = 0, leased_bytes_ = 0;
  double clock_ = 0;  ///< greedy-dual: the value of the snapshot that was evicted last
};

/// The tree in which a method's snapshots that any of its prompts can continue are kept: that of
/// dense attention for the methods that read a prompt like it.
std::string shared_method(const std::string& method, const ResumeRule& rule);

}  // namespace longhaul::serve
