#pragma once
// The prefix cache holds snapshots, which are copies of sequences. A later prompt with the same
// first tokens resumes from a snapshot instead of computing these tokens again. The snapshots are
// stored in radix trees (serve/cache/snapshot_tree.h).

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "serve/cache/cut_points.h"
#include "serve/cache/snapshot_tree.h"

namespace longhaul::serve {

/// A prompt for which the cache is searched. The members are explained at TreeKey and CutFacts.
struct CacheQuery {
  std::string scope;  ///< API key and salt
  std::string method;
  ResumeRule rule;
  int64_t angles = 0;
  std::string adapter = {};
  std::span<const int32_t> prompt;
  std::span<const int64_t> cuts;  ///< cut_points() of the prompt
  int64_t instruction = 0;
  /// Whether snapshots that are only in host memory beside a device or on disk are ignored.
  bool memory_only = false;
};

/// A resume point, which is the result of a search: the snapshot from which a prompt can resume,
/// and the number of tokens that it reuses.
struct Resume {
  std::shared_ptr<Snapshot> snapshot;  ///< null: nothing can be reused
  int64_t tokens = 0;                  ///< number of reused tokens
  bool whole = false;                  ///< whether the whole prompt is reused, including its logits
  bool exact = true;  ///< whether the result is bitwise equal to a prefill without a cache
  /// Whether the snapshot was computed with dense attention, but the prompt uses another method.
  bool dense = false;
  /// The number of tokens after which the prompt differs from all cached prompts. The caller should
  /// take a snapshot there, because later prompts may also share this prefix. 0: there is no such
  /// position.
  int64_t branch = 0;
};

class PrefixCache {
 public:
  /// If `exact` is true (`--exact-cache`), only resume points whose results are bitwise equal to a
  /// prefill without a cache are used.
  explicit PrefixCache(bool exact) : exact_(exact) {}

  /// Returns the best resume point. The search does not count as a use of the snapshot; lease()
  /// does.
  Resume find(const CacheQuery& query) const;
  /// Protects a snapshot from eviction until release(). Jobs that use a snapshot hold a lease.
  void lease(Snapshot& snapshot);
  void release(Snapshot& snapshot);

  /// Adds a snapshot. If the cache already has an equally good snapshot of the same tokens,
  /// `snapshot` is not added. Returns the snapshot that the cache now holds for these tokens, or
  /// null if the sequence is too short to be cached.
  std::shared_ptr<Snapshot> insert(std::shared_ptr<Snapshot> snapshot);
  /// Removes older snapshots of the same conversation that are shorter than `snapshot`, because the
  /// next turn will resume from `snapshot`. Only snapshots of at most `tokens` tokens are removed.
  void drop_covered(const Snapshot& snapshot, int64_t tokens);
  /// Returns the snapshot with the lowest value that may be evicted from memory, or null. If
  /// `at_once` is false, it may be one that is being copied to host memory and has not been
  /// evicted.
  Snapshot* next_victim(double now, bool at_once = true);
  /// Evicts a snapshot from memory. If it is also in host memory or on disk, it can still be found.
  void evict(Snapshot& victim);
  /// Frees the host memory of the snapshot with the lowest value there. Those that are also on the
  /// device go first. If the snapshot is nowhere else, it is removed. Returns false if there is
  /// none that may be evicted.
  bool evict_from_host(double now);
  /// Frees the host memory of a snapshot. If it is nowhere else, it is removed.
  void drop_from_host(Snapshot& snapshot);
  /// Removes the snapshots of these tokens and of all longer prompts that begin with them. Pinned
  /// snapshots stay. Returns the number of removed snapshots.
  int erase(const TreeKey& key, std::span<const int32_t> tokens);
  void remove(Snapshot& snapshot);
  /// Frees the memory of all snapshots that are also on disk, except for those with a lease.
  /// Returns their number.
  int unload_stored();
  /// Sets the sequence of a snapshot that was only in host memory or on disk.
  void fill(Snapshot& snapshot, std::unique_ptr<ServedSequence> sequence);

  /// Called with the name of a snapshot's file when another snapshot has replaced this snapshot in
  /// the cache.
  std::function<void(const std::string& file)> on_drop;

  size_t count() const { return all_.size(); }
  /// Returns the memory of the cache in bytes, without the pages of keys and values.
  size_t overhead() const { return overhead_; }
  /// Returns the size in bytes of the keys and values that cannot be evicted, because their
  /// snapshots have a lease.
  size_t leased_bytes() const { return leased_bytes_; }
  const std::vector<Snapshot*>& all() const { return all_; }

 private:
  Resume find_at_any_depth(const SnapshotTree& tree, const CacheQuery& query) const;
  Resume find_at_ends(const SnapshotTree& tree, const CacheQuery& query) const;
  const SnapshotTree* tree_of(const CacheQuery& query, const std::string& method) const;
  void unload(Snapshot& snapshot);
  void unload_from_host(Snapshot& snapshot);
  bool verified(const Resume& resume, const CacheQuery& query) const;
  double value_of(const Snapshot& snapshot) const;

  bool exact_;
  std::map<TreeKey, SnapshotTree> trees_;
  std::vector<Snapshot*> all_;
  size_t overhead_ = 0, leased_bytes_ = 0;
  double clock_ = 0;  ///< greedy-dual clock: the value of the most recently evicted snapshot
};

/// Returns the name of the method for TreeKey::method. It is "dense" for methods whose prefill is
/// the same as that of dense attention, so that these methods share snapshots.
std::string shared_method(const std::string& method, const ResumeRule& rule);

}  // namespace longhaul::serve
