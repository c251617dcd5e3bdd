#include "jinja/substrings.h"

#include <algorithm>
#include <cstring>

#include "text/utf8.h"

namespace longhaul::jinja {
namespace {

Values reversed(const Values& parts) { return {parts.rbegin(), parts.rend()}; }

Values split_at_space(const String& text, int64_t most, bool from_end, Budget& budget) {
  Values parts;
  ByteRange left = without_space(text.bytes(), true, true);
  const auto rest = [&] { return text.bytes().substr(left.begin, left.end - left.begin); };
  while (left.begin < left.end && (most < 0 || std::ssize(parts) < most)) {
    budget.spend(1);
    if (from_end) {
      size_t word = left.end;  // beginning of the last word
      while (word > left.begin &&
             without_space(text.bytes().substr(left.begin, word - left.begin), false, true).end ==
                 word - left.begin) {
        --word;
        while (word > left.begin && (static_cast<uint8_t>(text.bytes()[word]) & 0xC0) == 0x80)
          --word;
      }
      parts.emplace_back(text.slice(word, left.end));
      left.end = left.begin +
                 without_space(text.bytes().substr(left.begin, word - left.begin), false, true).end;
    } else {
      size_t word = left.begin;  // end of the first word
      while (word < left.end) {
        const Utf8Sequence next = read_utf8(text.bytes().substr(word));
        if (next.status == Utf8Status::complete && is_python_space(next.code_point)) break;
        word += next.bytes;
      }
      parts.emplace_back(text.slice(left.begin, word));
      left.begin = word;
      left.begin += without_space(rest(), true, false).begin;
    }
  }
  if (left.begin < left.end) {  // the rest keeps its white space on the side without splits
    const ByteRange outer = from_end ? ByteRange{0, left.end} : ByteRange{left.begin, text.size()};
    parts.emplace_back(text.slice(outer.begin, outer.end));
  }
  return from_end ? reversed(parts) : parts;
}

}  // namespace

size_t find_bytes(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  // The C library's search is linear (two-way; short parts by hashes).
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

/// Knuth, Morris and Pratt, from the end.
size_t find_last_bytes(std::string_view text, std::string_view part) {
  if (part.empty()) return text.size();
  if (part.size() > text.size()) return std::string_view::npos;
  const auto wanted = [&](size_t i) { return part[part.size() - 1 - i]; };
  Vector<size_t> border(part.size(), 0);  // border of the last i + 1 bytes of the part
  for (size_t i = 1, k = 0; i < part.size(); ++i) {
    while (k > 0 && wanted(i) != wanted(k)) k = border[k - 1];
    k += wanted(i) == wanted(k) ? 1 : 0;
    border[i] = k;
  }
  for (size_t left = text.size(), k = 0; left > 0; --left) {
    const char c = text[left - 1];
    while (k > 0 && c != wanted(k)) k = border[k - 1];
    k += c == wanted(k) ? 1 : 0;
    if (k == part.size()) return left - 1;
  }
  return std::string_view::npos;
}

const String& text_argument(const Value& value) {
  check_defined(value);
  if (!value.is(Kind::string)) fault("must be str, not {}", value.type());
  return value.string();
}

String stripped(const String& text, const Value* characters, bool at_front, bool at_back,
                Budget& budget) {
  if (characters == nullptr) {
    const ByteRange left = without_space(text.bytes(), at_front, at_back);
    return text.slice(left.begin, left.end);
  }
  const String& set = text_argument(*characters);
  budget.spend(set.size());
  const CharacterOffsets offsets(text.bytes());
  const auto taken = [&](size_t i) {
    budget.spend(set.size());
    const size_t at = offsets.byte_of(i);
    const std::string_view c = text.bytes().substr(at, offsets.byte_of(i + 1) - at);
    return set.bytes().find(c) != std::string_view::npos;
  };
  size_t begin = 0, end = offsets.count();
  while (at_front && begin < end && taken(begin)) ++begin;
  while (at_back && begin < end && taken(end - 1)) --end;
  return text.slice(offsets.byte_of(begin), offsets.byte_of(end));
}

Values split_text(const String& text, const Value* mark, int64_t most, bool from_end,
                  Budget& budget) {
  budget.spend(text.weight());
  if (mark == nullptr) return split_at_space(text, most, from_end, budget);
  const String& by = text_argument(*mark);
  if (by.empty()) fault("empty separator");
  Values parts;
  size_t begin = 0, end = text.size();
  while (most < 0 || std::ssize(parts) < most) {
    const std::string_view left = text.bytes().substr(begin, end - begin);
    const size_t at = from_end ? find_last_bytes(left, by.bytes()) : find_bytes(left, by.bytes());
    if (at == std::string_view::npos) break;
    budget.spend(16);
    if (from_end) {
      parts.emplace_back(text.slice(begin + at + by.size(), end));
      end = begin + at;
    } else {
      parts.emplace_back(text.slice(begin, begin + at));
      begin += at + by.size();
    }
  }
  parts.emplace_back(text.slice(begin, end));
  return from_end ? reversed(parts) : parts;
}

Values lines_of(const String& text, bool with_ends, Budget& budget) {
  budget.spend(text.weight());
  const auto ends_line = [](uint32_t c) {
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
  };
  Values lines;
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Sequence next = read_utf8(bytes.substr(at));
    size_t past = at + next.bytes;
    if (next.status == Utf8Status::complete && ends_line(next.code_point)) {
      if (bytes.substr(at).starts_with("\r\n")) ++past;
      budget.spend(16);
      lines.emplace_back(text.slice(begin, with_ends ? past : at));
      begin = past;
    }
    at = past;
  }
  if (begin < bytes.size()) lines.emplace_back(text.slice(begin, bytes.size()));
  return lines;
}

String replaced(const String& text, const String& before, const String& after, int64_t most,
                Budget& budget) {
  budget.spend(text.weight());
  String out;
  const std::string_view bytes = text.bytes();
  size_t from = 0;
  for (int64_t count = 0; most < 0 || count < most; ++count) {
    size_t at = from;
    size_t past = from;
    if (before.empty()) {  // before every character and at the end
      if (count > 0) {
        if (from >= bytes.size()) break;
        at = from + character_bytes(bytes, from);
      }
      past = at;
    } else {
      at = find_bytes(bytes, before.bytes(), from);
      if (at == std::string_view::npos) break;
      past = at + before.size();
    }
    budget.spend(after.weight());
    budget.check_length(out.size() + (at - from) + after.size());
    out.append(text, from, at);
    out.append(after);
    from = past;
  }
  out.append(text, from, text.size());
  budget.check_length(out.size());
  return out;
}

String justified(const String& text, int64_t width, const String& fill, char align,
                 Budget& budget) {
  if (count_characters(fill.bytes()) != 1) fault("the fill must be exactly one character long");
  budget.spend(text.weight());
  const auto length = static_cast<int64_t>(count_characters(text.bytes()));
  if (length >= width) return text;
  const auto missing = static_cast<size_t>(width - length);
  budget.check_length(missing);
  budget.spend(missing * (4 + fill.weight()));
  // For an odd number of fill characters Python's center() puts the larger part to the left if the
  // width is odd.
  const size_t middle = missing / 2 + (missing & static_cast<size_t>(width) & 1);
  const size_t before = align == '<' ? 0 : align == '>' ? missing : middle;
  String out;
  for (size_t i = 0; i < before; ++i) out.append(fill);
  out.append(text);
  for (size_t i = before; i < missing; ++i) out.append(fill);
  return out;
}

ByteRange range_of(std::string_view text, const Value& begin, const Value& end) {
  if (begin.is(Kind::none) && end.is(Kind::none)) return {0, text.size()};
  const CharacterOffsets offsets(text);
  const auto count = static_cast<int64_t>(offsets.count());
  const auto bound = [&](const Value& value, int64_t when_absent) {
    if (value.is(Kind::none)) return when_absent;
    check_defined(value);
    if (!value.integer()) fault("slice indices must be integers or None");
    const int64_t given = *value.integer();
    return std::clamp<int64_t>(given < 0 ? std::max(given, -count) + count : given, 0, count);
  };
  const int64_t from = bound(begin, 0), to = std::max(from, bound(end, count));
  return {offsets.byte_of(static_cast<size_t>(from)), offsets.byte_of(static_cast<size_t>(to))};
}

String part_of(const String& text, const Value& begin, const Value& end, Budget& budget) {
  budget.spend(text.weight());
  const ByteRange range = range_of(text.bytes(), begin, end);
  return text.slice(range.begin, range.end);
}

}  // namespace longhaul::jinja
