#include "base/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace longhaul {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Number of insertions, deletions, replacements and swaps of neighbours between two names.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = above, above = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// The only candidate that begins with `name`; empty if there are several, or the name is short.
std::string_view only_beginning(std::string_view name,
                                std::span<const std::string_view> candidates) {
  constexpr size_t kLeastLetters = 3;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    if (name.size() < kLeastLetters || !candidate.starts_with(name) || candidate == found) continue;
    if (!found.empty()) return {};
    found = candidate;
  }
  return found;
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr size_t kLongestName = 64;
  std::string_view nearest;
  if (name.size() > kLongestName) return nearest;
  size_t fewest = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t n = edits(name, candidate);
    if (n < fewest) fewest = n, nearest = candidate;
  }
  return nearest.empty() ? only_beginning(name, candidates) : nearest;
}

std::string nearest_name_hint(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string nearest_name_hint(std::string_view name, const std::vector<std::string>& candidates) {
  return nearest_name_hint(name,
                           std::vector<std::string_view>(candidates.begin(), candidates.end()));
}

}  // namespace longhaul
