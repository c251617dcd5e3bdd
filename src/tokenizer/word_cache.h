#pragma once
// WordCache stores words and their token ids. Texts repeat words, so that most words need to be
// encoded only once.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class WordCache {
 public:
  /// Returns the ids of the word, or nothing if it is not in the cache. The result is valid until
  /// the next put().
  std::optional<std::span<const int32_t>> find(std::string_view word) const;
  /// Adds a word, which must not be in the cache. If the cache is full, all its words are removed
  /// first.
  void put(std::string_view word, std::span<const int32_t> ids);

  static bool worth_keeping(std::string_view word) { return word.size() <= 64; }

 private:
  struct Entry {
    uint64_t hash = 0;
    uint32_t key_begin = 0, key_bytes = 0;  // range in keys_; 0 bytes: the slot is free
    uint32_t ids_begin = 0, ids_count = 0;
  };
  size_t slot_of(std::string_view word, uint64_t hash) const;
  void grow();
  void clear();

  std::vector<Entry> slots_ = std::vector<Entry>(512);  // size is a power of two, linear probing
  size_t size_ = 0;
  std::string keys_;
  std::vector<int32_t> ids_;
};

}  // namespace longhaul
