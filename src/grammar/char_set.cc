#include "grammar/char_set.h"

#include <utf8proc.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "base/error.h"
#include "text/printable.h"

namespace longhaul::grammar {
namespace {

constexpr char32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

}  // namespace

CharSet::CharSet(std::initializer_list<CharRange> ranges) : ranges_(ranges) { normalise(); }

CharSet CharSet::any() { return {{0, kLastCharacter}}; }

void CharSet::add(char32_t low, char32_t high) {
  if (!ranges_.empty() && low > ranges_.back().high + 1 && low > kLastSurrogate) {
    ranges_.push_back({low, high});
    return;
  }
  ranges_.push_back({low, high});
  normalise();
}

void CharSet::add(const CharSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalise();
}

void CharSet::normalise() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const CharRange& a, const CharRange& b) { return a.low < b.low; });
  std::vector<CharRange> joined;
  const auto put = [&joined](char32_t low, char32_t high) {
    if (low > high) return;
    if (!joined.empty() && low <= joined.back().high + 1) {
      joined.back().high = std::max(joined.back().high, high);
    } else {
      joined.push_back({low, high});
    }
  };
  for (const CharRange& range : ranges_) {
    put(range.low, std::min<char32_t>(range.high, kFirstSurrogate - 1));
    put(std::max<char32_t>(range.low, kLastSurrogate + 1), std::min(range.high, kLastCharacter));
  }
  ranges_ = std::move(joined);
}

CharSet CharSet::complement() const {
  CharSet other;
  char32_t next = 0;
  for (const CharRange& range : ranges_) {
    if (range.low > next) other.ranges_.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= kLastCharacter) other.ranges_.push_back({next, kLastCharacter});
  other.normalise();
  return other;
}

CharSet CharSet::intersection(const CharSet& other) const {
  CharSet both;
  size_t j = 0;
  for (const CharRange& range : ranges_) {
    while (j < other.ranges_.size() && other.ranges_[j].high < range.low) ++j;
    for (size_t k = j; k < other.ranges_.size() && other.ranges_[k].low <= range.high; ++k) {
      both.ranges_.push_back(
          {std::max(range.low, other.ranges_[k].low), std::min(range.high, other.ranges_[k].high)});
    }
  }
  return both;
}

CharSet CharSet::without(const CharSet& other) const { return intersection(other.complement()); }

bool CharSet::contains(char32_t c) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), c,
                                      [](char32_t x, const CharRange& r) { return x < r.low; });
  return after != ranges_.begin() && std::prev(after)->high >= c;
}

const CharSet& unicode_category(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, CharSet, std::less<>> categories;
  const std::scoped_lock lock(mutex);
  if (categories.empty()) {  // all categories at once: a pass over Unicode takes milliseconds
    std::map<std::string, std::vector<CharRange>> found;
    for (char32_t c = 0; c <= kLastCharacter; ++c) {
      const std::string two = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
      for (const std::string& key : {two, two.substr(0, 1)}) {
        std::vector<CharRange>& ranges = found[key];
        if (!ranges.empty() && ranges.back().high + 1 == c) {
          ranges.back().high = c;
        } else {
          ranges.push_back({c, c});
        }
      }
    }
    for (const auto& [key, ranges] : found) {
      CharSet set;
      for (const CharRange& range : ranges) {
        if (range.low > kLastSurrogate || range.high < kFirstSurrogate) {
          set.add(range.low, range.high);
        }
      }
      categories.emplace(key, std::move(set));
    }
  }
  const auto found = categories.find(name);
  if (found == categories.end()) user_error("no Unicode category is named {}", printable(name));
  return found->second;
}

}  // namespace longhaul::grammar
