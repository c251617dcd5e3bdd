#include "serve/documents/text_places.h"

#include <algorithm>
#include <charconv>

namespace longhaul::serve {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

/// The number in a line "[page N]" at the front of `text`; 0: it begins in another way.
int64_t page_number(std::string_view text) {
  constexpr std::string_view kMark = "[page ";
  if (!text.starts_with(kMark)) return 0;
  text.remove_prefix(kMark.size());
  int64_t page = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, page);
  const bool whole =
      error == std::errc() && end != last && *end == ']' && (end + 1 == last || end[1] == '\n');
  return whole && page > 0 ? page : 0;
}

}  // namespace

TextPlaces::TextPlaces(std::string_view text) {
  before_.reserve(text.size() / kStep + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % kStep == 0) before_.push_back(characters_);
    if (text[i] == '[' && (i == 0 || text[i - 1] == '\n')) {
      if (const int64_t page = page_number(text.substr(i)); page > 0) {
        pages_.push_back({page, characters_});
      }
    }
    characters_ += begins_character(text[i]) ? 1 : 0;
  }
}

size_t TextPlaces::character_of(std::string_view text, size_t byte) const {
  if (byte >= text.size()) return characters_;
  const size_t entry = byte / kStep;
  const std::string_view rest = text.substr(entry * kStep, byte - entry * kStep);
  return before_[entry] + static_cast<size_t>(std::ranges::count_if(rest, begins_character));
}

size_t TextPlaces::byte_of(std::string_view text, size_t character) const {
  if (character >= characters_) return text.size();
  const auto after = std::ranges::upper_bound(before_, character);
  const auto entry = static_cast<size_t>(after - before_.begin()) - 1;
  size_t byte = entry * kStep, seen = before_[entry];
  for (;; ++byte) {
    if (!begins_character(text[byte])) continue;
    if (seen == character) return byte;
    ++seen;
  }
}

int64_t TextPlaces::page_of(size_t character) const {
  const auto after = std::ranges::upper_bound(pages_, character, std::less<>(), &PagePlace::begin);
  return after == pages_.begin() ? 0 : std::prev(after)->page;
}

}  // namespace longhaul::serve
