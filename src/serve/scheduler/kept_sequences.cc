#include "serve/scheduler/kept_sequences.h"

#include <algorithm>

namespace longhaul::serve {
namespace {

constexpr int64_t kLeastShared = 16;  // a prefill of fewer tokens is as fast

}  // namespace

int64_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

void KeptSequences::keep(Owner owner, std::unique_ptr<ServedSequence> sequence, double now) {
  const auto tokens = sequence->tokens();
  if (std::ssize(tokens) < kLeastShared) return;
  // Without a name a sequence belongs to the same conversation if it begins with the same tokens.
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.owner != owner) return false;
    const auto others = entry.sequence->tokens();
    return !owner.conversation.empty() || common_prefix(others, tokens) == std::ssize(others);
  });
  entries_.push_back({std::move(owner), std::move(sequence), now});
  while (entries_.size() > most_) entries_.pop_front();
}

std::unique_ptr<ServedSequence> KeptSequences::take(const Owner& owner,
                                                    std::span<const int32_t> prompt) {
  auto best = entries_.end();
  int64_t shared = kLeastShared - 1;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->owner.key != owner.key || entry->owner.attention != owner.attention) continue;
    if (!owner.conversation.empty() && entry->owner.conversation != owner.conversation) continue;
    const int64_t common = common_prefix(entry->sequence->tokens(), prompt);
    if (common <= shared) continue;
    shared = common;
    best = entry;
  }
  if (best == entries_.end()) return nullptr;
  const bool whole = shared == std::ssize(best->sequence->tokens());
  // Another turn may still continue the whole sequence: only a copy is cut.
  std::unique_ptr<ServedSequence> taken = whole ? nullptr : best->sequence->clone();
  if (taken != nullptr) {
    entries_.splice(entries_.end(), entries_, best);
  } else if (whole || 2 * shared >= std::ssize(best->sequence->tokens())) {
    taken = std::move(best->sequence);
    entries_.erase(best);
  } else {
    return nullptr;
  }
  return taken->reuse_prefix(prompt) > 0 ? std::move(taken) : nullptr;
}

size_t KeptSequences::evict() {
  if (entries_.empty()) return 0;
  const size_t bytes = entries_.front().sequence->facts().kv_bytes;
  entries_.pop_front();
  return std::max<size_t>(1, bytes);
}

size_t KeptSequences::bytes() const {
  size_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.sequence->facts().kv_bytes;
  return sum;
}

}  // namespace longhaul::serve
