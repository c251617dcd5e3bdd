#include "serve/cache/prefix_cache.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace longhaul::serve {
namespace {

constexpr size_t kSharedBelow = 256;   // snapshots below another one that may share its pages
constexpr size_t kBelow = 16;          // snapshots below the place where a prompt leaves the tree
constexpr int64_t kWorthATurn = 2048;  // tokens that an evicted state has to save
constexpr size_t kSnapshotBytes = 16 << 10;  // a method's state, without tokens and logits
constexpr size_t kMeasured = 8;  // candidates for eviction whose own bytes are counted anew

size_t overhead_of(const Snapshot& snapshot) {
  const size_t tokens = 2 * snapshot.tokens().size_bytes();
  const ServedSequence* const sequence = snapshot.any_sequence();
  if (sequence == nullptr) return tokens;
  return kSnapshotBytes + sequence->logits().size_bytes() + tokens;
}

/// The depth up to `tokens` that a fresh sequence can reach in the same way: a prefill of fewer
/// rows than kLeastPrefill after decoded tokens would have other bits than the longer one in the
/// legs.
int64_t repeatable_depth(std::span<const Leg> legs, int64_t tokens) {
  int64_t decoded_end = 0;  // the end of the last decoded leg before `tokens`
  for (const Leg& leg : legs) {
    if (leg.end >= tokens) {
      const bool short_rest = decoded_end > 0 && tokens - decoded_end < kLeastPrefill;
      return leg.decoded || !short_rest ? tokens : decoded_end;
    }
    if (leg.decoded) decoded_end = leg.end;
  }
  return tokens;
}

/// The memory in which a snapshot is: how soon it can be used.
int nearness(const Snapshot& snapshot) {
  return snapshot.sequence != nullptr ? 2 : snapshot.on_host != nullptr ? 1 : 0;
}

/// Whether longer snapshots in memory share the pages of this one.
bool is_shared(const Snapshot& snapshot) {
  if (!snapshot.sequence->rewinds() || snapshot.node->is_leaf()) return false;
  const auto below = SnapshotTree::below(*snapshot.node, kSharedBelow);
  return std::ranges::any_of(below, [&](const Snapshot* s) {
    return s != &snapshot && s->sequence != nullptr && !s->leaving;
  });
}

bool stays_on_device(const Snapshot& snapshot) {
  return snapshot.sequence != nullptr && !snapshot.leaving;
}

/// The bytes that a snapshot frees when the snapshots below it, which are leaving, have left. Their
/// pages still count as shared.
size_t bytes_if_others_leave(const Snapshot& snapshot) {
  if (snapshot.node->is_leaf()) return 0;
  const Snapshot* above = SnapshotTree::above(*snapshot.node);
  const bool shares = above != nullptr && above->sequence != nullptr && !above->leaving;
  const size_t tokens = snapshot.tokens().size(), shared = shares ? above->tokens().size() : 0;
  return snapshot.kv_bytes / tokens * (tokens - shared);
}

/// Keeps what is known of a snapshot that leaves memory.
void keep_tokens(Snapshot& snapshot) {
  const auto tokens = snapshot.tokens();
  snapshot.stored_tokens.assign(tokens.begin(), tokens.end());
  snapshot.whole_prompt = snapshot.whole_prompt && snapshot.has_logits();
}

}  // namespace

std::string shared_method(const std::string& method, const ResumeRule& rule) {
  return rule.group == ResumeGroup::kDense ? "dense" : method;
}

const SnapshotTree* PrefixCache::tree_of(const CacheQuery& query, const std::string& method) const {
  const auto tree = trees_.find({query.scope, method, query.angles, query.adapter});
  return tree == trees_.end() ? nullptr : &tree->second;
}

Resume PrefixCache::find(const CacheQuery& query) const {
  Resume best;
  const ResumeGroup group = query.rule.group;
  const bool dense = group == ResumeGroup::kDense;
  if (dense || group == ResumeGroup::kRewindable) {
    if (const auto* tree = tree_of(query, shared_method(query.method, query.rule))) {
      best = find_at_any_depth(*tree, query);
      best.dense = dense && !query.rule.is_dense;
    }
  }
  if (!dense || !query.rule.is_dense) {
    if (const auto* tree = tree_of(query, query.method);
        tree != nullptr && group != ResumeGroup::kRewindable) {
      const Resume turn = find_at_ends(*tree, query);
      const int64_t least = dense && !turn.whole ? best.tokens + kWorthATurn : best.tokens + 1;
      if (turn.snapshot != nullptr && turn.tokens >= least) best = turn;
      if (best.branch == 0 && !dense) best.branch = turn.branch;
    }
  }
  if (best.snapshot != nullptr && !verified(best, query)) best = {};
  return best;
}

/// A wrong entry would be worse than none.
bool PrefixCache::verified(const Resume& resume, const CacheQuery& query) const {
  const auto tokens = resume.snapshot->tokens();
  return std::ssize(tokens) >= resume.tokens &&
         std::equal(tokens.begin(), tokens.begin() + resume.tokens, query.prompt.begin());
}

Resume PrefixCache::find_at_any_depth(const SnapshotTree& tree, const CacheQuery& query) const {
  const SnapshotTree::Path path = tree.walk(query.prompt);
  const int64_t length = std::ssize(query.prompt);
  const int64_t most = std::min(path.common, length - std::max(kLeastPrefill, query.rule.last));
  std::vector<Snapshot*> candidates;
  for (auto node = path.nodes.rbegin(); node != path.nodes.rend(); ++node) {
    if ((*node)->snapshot != nullptr) candidates.push_back((*node)->snapshot.get());
  }
  if (path.below != nullptr) {
    const auto more = SnapshotTree::below(*path.below, kBelow);
    candidates.insert(candidates.end(), more.begin(), more.end());
  }
  Resume best;
  for (Snapshot* candidate : candidates) {
    const int64_t own = std::ssize(candidate->tokens());
    const int64_t prefilled = prefilled_tokens(candidate->legs);
    const bool whole =
        own == length && path.common == length && query.rule.is_dense && candidate->has_logits();
    const int64_t usable = std::min(own, most);
    const int64_t most_exact = whole ? (candidate->cold ? length : 0) : std::min(usable, prefilled);
    const int64_t tokens = exact_  ? most_exact
                           : whole ? length
                                   : repeatable_depth(candidate->legs, usable);
    if (whole && exact_ && tokens == 0) continue;
    if (query.memory_only && candidate->sequence == nullptr) continue;
    const bool nearer = best.snapshot != nullptr && nearness(*candidate) > nearness(*best.snapshot);
    const ServedSequence* const in_memory = candidate->any_sequence();
    if (tokens < kLeastPrefill || tokens < best.tokens) continue;
    if (tokens == best.tokens && !nearer) continue;
    if (tokens < own && in_memory != nullptr && !in_memory->rewinds()) continue;
    best = {candidate->node->snapshot, tokens, whole, tokens <= most_exact};
  }
  const bool parts = path.goes_on && path.common >= kLeastPrefill && path.common <= most;
  if (parts) best.branch = path.common;
  return best;
}

Resume PrefixCache::find_at_ends(const SnapshotTree& tree, const CacheQuery& query) const {
  const SnapshotTree::Path path = tree.walk(query.prompt);
  const int64_t length = std::ssize(query.prompt);
  const bool grid = query.rule.group == ResumeGroup::kGrid;
  std::vector<Leg> cold;  // as the prompt would be read without a cache
  for (const int64_t cut : query.cuts) cold.push_back({cut, false});
  cold.push_back({length, false});
  Resume best;
  for (auto node = path.nodes.rbegin(); node != path.nodes.rend(); ++node) {
    const std::shared_ptr<Snapshot>& candidate = (*node)->snapshot;
    if (candidate == nullptr) continue;
    if (query.memory_only && candidate->sequence == nullptr) continue;
    const int64_t tokens = (*node)->depth;
    const bool whole = tokens == length && candidate->whole_prompt && candidate->has_logits() &&
                       candidate->instruction == query.instruction;
    if (tokens == length && !whole) continue;
    const bool at_cut = std::ranges::find(query.cuts, tokens) != query.cuts.end();
    const bool as_cold = candidate->legs == first_legs(cold, tokens);
    const bool exact = whole ? candidate->cold : grid && at_cut && as_cold;
    if (exact_ && !exact) continue;
    best = {candidate, tokens, whole, exact};
    break;
  }
  if (grid && path.goes_on && !exact_) {
    const int64_t most = std::min(path.common, length - kLeastPrefill);
    const int64_t branch = most / query.rule.unit * query.rule.unit;
    if (branch > best.tokens) best.branch = branch;
  }
  return best;
}

void PrefixCache::release(Snapshot& snapshot) {
  if (--snapshot.leases == 0 && snapshot.sequence != nullptr) leased_bytes_ -= snapshot.kv_bytes;
}

void PrefixCache::lease(Snapshot& snapshot) {
  if (++snapshot.leases == 1 && snapshot.sequence != nullptr) leased_bytes_ += snapshot.kv_bytes;
  snapshot.uses += 1;
  snapshot.priority = clock_ + value_of(snapshot);
}

/// The seconds that the snapshot saves for each of its bytes.
double PrefixCache::value_of(const Snapshot& snapshot) const {
  const Snapshot* above = SnapshotTree::above(*snapshot.node);
  const double seconds = std::max(0.0, snapshot.seconds - (above ? above->seconds : 0));
  const double bytes = static_cast<double>(snapshot.own_bytes + snapshot.overhead);
  return snapshot.uses * seconds / std::max(1.0, bytes);
}

std::shared_ptr<Snapshot> PrefixCache::insert(std::shared_ptr<Snapshot> snapshot) {
  const auto tokens = snapshot->tokens();
  if (std::ssize(tokens) < kLeastPrefill) return nullptr;
  TreeNode* node = trees_[snapshot->key].make(tokens);
  if (node->snapshot != nullptr) {
    Snapshot& old = *node->snapshot;
    old.marked = old.marked || snapshot->marked;
    old.kept_until = std::max(old.kept_until, snapshot->kept_until);
    const bool better = prefilled_tokens(snapshot->legs) > prefilled_tokens(old.legs) ||
                        (!old.has_logits() && snapshot->has_logits()) ||
                        (old.sequence == nullptr && snapshot->sequence != nullptr);
    if (!better || old.leases > 0 || old.pins > 0) return node->snapshot;
    snapshot->uses = old.uses;
    snapshot->marked = old.marked;
    if (snapshot->legs == old.legs) {
      snapshot->file = old.file;
      snapshot->stored_bytes = old.stored_bytes;
    } else if (!old.file.empty() && on_drop) {
      on_drop(old.file);
    }
    overhead_ -= old.overhead;
    std::erase(all_, &old);
    old.node = nullptr;
  }
  snapshot->node = node;
  snapshot->overhead = overhead_of(*snapshot);
  snapshot->kv_bytes = snapshot->sequence ? snapshot->sequence->kv_bytes() : snapshot->stored_bytes;
  const Snapshot* above = SnapshotTree::above(*node);
  const auto shared = above != nullptr ? above->tokens().size() : 0;
  snapshot->own_bytes = snapshot->kv_bytes / tokens.size() * (tokens.size() - shared);
  snapshot->priority = clock_ + value_of(*snapshot);
  overhead_ += snapshot->overhead;
  all_.push_back(snapshot.get());
  node->snapshot = snapshot;
  return snapshot;
}

void PrefixCache::fill(Snapshot& snapshot, std::unique_ptr<ServedSequence> sequence) {
  overhead_ -= snapshot.overhead;
  snapshot.sequence = std::move(sequence);
  snapshot.stored_tokens = {};
  snapshot.overhead = overhead_of(snapshot);
  snapshot.kv_bytes = snapshot.own_bytes = snapshot.sequence->kv_bytes();
  snapshot.priority = clock_ + value_of(snapshot);
  overhead_ += snapshot.overhead;
  if (snapshot.leases > 0) leased_bytes_ += snapshot.kv_bytes;
}

int PrefixCache::unload_stored() {
  int unloaded = 0;
  for (Snapshot* each : all_) {
    if (each->any_sequence() == nullptr || each->file.empty() || each->leases > each->pins ||
        each->copying || each->loading) {
      continue;
    }
    if (each->sequence != nullptr) unload(*each);
    if (each->on_host != nullptr) unload_from_host(*each);
    ++unloaded;
  }
  return unloaded;
}

/// Frees the memory of a snapshot that is also in host memory or on disk.
void PrefixCache::unload(Snapshot& snapshot) {
  LH_ASSERT(!snapshot.copying);
  overhead_ -= snapshot.overhead;
  if (snapshot.leases > 0) leased_bytes_ -= snapshot.kv_bytes;
  if (snapshot.on_host == nullptr) keep_tokens(snapshot);
  snapshot.sequence.reset();
  snapshot.overhead = overhead_of(snapshot);
  overhead_ += snapshot.overhead;
}

void PrefixCache::unload_from_host(Snapshot& snapshot) {
  overhead_ -= snapshot.overhead;
  if (snapshot.sequence == nullptr) keep_tokens(snapshot);
  snapshot.on_host.reset();
  snapshot.overhead = overhead_of(snapshot);
  overhead_ += snapshot.overhead;
}

bool PrefixCache::evict_from_host(double now) {
  Snapshot* victim = nullptr;
  const auto before = [&](const Snapshot& a, const Snapshot& b) {
    if (stays_on_device(a) != stays_on_device(b)) return stays_on_device(a);
    const bool a_kept = a.kept_until > now, b_kept = b.kept_until > now;
    return a_kept != b_kept ? b_kept : a.priority < b.priority;
  };
  for (Snapshot* each : all_) {
    if (each->on_host == nullptr || each->loading || each->leaving) continue;
    const bool elsewhere = stays_on_device(*each) || !each->file.empty();
    if (!elsewhere && (each->leases > 0 || each->pins > 0)) continue;
    if (victim == nullptr || before(*each, *victim)) victim = each;
  }
  if (victim == nullptr) return false;
  drop_from_host(*victim);
  return true;
}

void PrefixCache::drop_from_host(Snapshot& snapshot) {
  if (snapshot.sequence != nullptr || !snapshot.file.empty()) {
    unload_from_host(snapshot);
  } else {
    remove(snapshot);
  }
}

void PrefixCache::remove(Snapshot& snapshot) {
  overhead_ -= snapshot.overhead;
  std::erase(all_, &snapshot);
  const auto tree = trees_.find(snapshot.key);
  LH_ASSERT(tree != trees_.end());
  TreeNode* node = std::exchange(snapshot.node, nullptr);
  tree->second.remove(node);  // may end the snapshot
  if (tree->second.empty()) trees_.erase(tree);
}

void PrefixCache::drop_covered(const Snapshot& snapshot, int64_t tokens) {
  std::vector<Snapshot*> covered;
  for (const TreeNode* node = snapshot.node->parent; node != nullptr && node->parent != nullptr;
       node = node->parent) {
    if (node->children.size() > 1) break;
    Snapshot* old = node->snapshot.get();
    if (old == nullptr || node->depth > tokens || old->marked || old->leases > 0 || old->pins > 0) {
      continue;
    }
    covered.push_back(old);
  }
  for (Snapshot* old : covered) {
    if (!old->file.empty() && on_drop) on_drop(old->file);
    remove(*old);
  }
}

Snapshot* PrefixCache::next_victim(double now, bool at_once) {
  std::vector<Snapshot*> candidates;
  for (Snapshot* each : all_) {
    if (each->leases > 0 || each->pins > 0 || each->sequence == nullptr) continue;
    if (each->leaving || (each->copying && (at_once || each->writing))) continue;
    if (is_shared(*each)) continue;
    candidates.push_back(each);
  }
  if (candidates.empty()) return nullptr;
  const auto before = [&](const Snapshot* a, const Snapshot* b) {
    const bool a_kept = a->kept_until > now, b_kept = b->kept_until > now;
    return a_kept != b_kept ? b_kept : a->priority < b->priority;
  };
  const auto least =
      candidates.begin() + static_cast<ptrdiff_t>(std::min(kMeasured, candidates.size()));
  std::partial_sort(candidates.begin(), least, candidates.end(), before);
  candidates.erase(least, candidates.end());
  for (Snapshot* each : candidates) {
    const double old_value = value_of(*each);
    each->own_bytes = std::max(each->sequence->own_bytes(), bytes_if_others_leave(*each));
    each->priority += value_of(*each) - old_value;
  }
  return *std::ranges::min_element(candidates, before);
}

void PrefixCache::evict(Snapshot& victim) {
  clock_ = std::max(clock_, victim.priority);
  if (victim.file.empty() && victim.on_host == nullptr) {
    remove(victim);
  } else {
    unload(victim);
  }
}

int PrefixCache::erase(const TreeKey& key, std::span<const int32_t> tokens) {
  const auto tree = trees_.find(key);
  if (tree == trees_.end()) return 0;
  const SnapshotTree::Path path = tree->second.walk(tokens);
  if (path.common < std::ssize(tokens) || path.below == nullptr) return 0;
  int erased = 0;
  for (Snapshot* each : SnapshotTree::below(*path.below, all_.size())) {
    if (each->pins > 0 || each->leases > 0) continue;
    remove(*each);
    ++erased;
  }
  return erased;
}

}  // namespace longhaul::serve
