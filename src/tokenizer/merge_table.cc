#include "tokenizer/merge_table.h"

#include <bit>

#include "base/seeded_hash.h"

namespace longhaul {

namespace {

uint64_t pair_key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(size_t expected)
    : secrets_(hash_secrets()), slots_(std::bit_ceil(expected * 2 + 16)) {}

size_t MergeTable::home(uint64_t key) const {
  return static_cast<size_t>(seeded_hash(key, secrets_)) & (slots_.size() - 1);
}

void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  if (left < 0 || right < 0) return;
  if ((size_ + 1) * 2 > slots_.size()) grow();
  const uint64_t key = pair_key(left, right);
  size_t at = home(key);
  while (slots_[at].key != kEmpty) {
    if (slots_[at].key == key) return;
    at = (at + 1) & (slots_.size() - 1);
  }
  slots_[at] = {key, merge};
  ++size_;
}

const Merge* MergeTable::find(int32_t left, int32_t right) const {
  if (left < 0 || right < 0) return nullptr;
  const uint64_t key = pair_key(left, right);
  for (size_t at = home(key); slots_[at].key != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].key == key) return &slots_[at].merge;
  }
  return nullptr;
}

void MergeTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key == kEmpty) continue;
    size_t at = home(slot.key);
    while (slots_[at].key != kEmpty) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

}  // namespace longhaul
