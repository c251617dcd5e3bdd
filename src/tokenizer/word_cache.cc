#include "tokenizer/word_cache.h"

#include "base/seeded_hash.h"

namespace longhaul {

namespace {
constexpr size_t kMaxWords = size_t{1} << 18;  // less than 64 MiB in total, including their words
uint64_t hash_of(std::string_view word) { return seeded_hash(word); }
}  // namespace

size_t WordCache::slot_of(std::string_view word, uint64_t hash) const {
  size_t at = static_cast<size_t>(hash) & (slots_.size() - 1);
  for (;; at = (at + 1) & (slots_.size() - 1)) {
    const Entry& entry = slots_[at];
    if (entry.key_bytes == 0) return at;
    if (entry.hash == hash &&
        std::string_view(keys_).substr(entry.key_begin, entry.key_bytes) == word) {
      return at;
    }
  }
}

std::optional<std::span<const int32_t>> WordCache::find(std::string_view word) const {
  const Entry& entry = slots_[slot_of(word, hash_of(word))];
  if (entry.key_bytes == 0) return std::nullopt;
  return std::span<const int32_t>(ids_).subspan(entry.ids_begin, entry.ids_count);
}

void WordCache::put(std::string_view word, std::span<const int32_t> ids) {
  if (size_ == kMaxWords) clear();
  if ((size_ + 1) * 2 > slots_.size()) grow();
  const uint64_t hash = hash_of(word);
  slots_[slot_of(word, hash)] = {
      hash, static_cast<uint32_t>(keys_.size()), static_cast<uint32_t>(word.size()),
      static_cast<uint32_t>(ids_.size()), static_cast<uint32_t>(ids.size())};
  keys_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ++size_;
}

void WordCache::grow() {
  std::vector<Entry> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Entry& entry : old) {
    if (entry.key_bytes == 0) continue;
    size_t at = static_cast<size_t>(entry.hash) & (slots_.size() - 1);
    while (slots_[at].key_bytes != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = entry;
  }
}

void WordCache::clear() {
  slots_.assign(slots_.size(), Entry{});
  keys_.clear();
  ids_.clear();
  size_ = 0;
}

}  // namespace longhaul
