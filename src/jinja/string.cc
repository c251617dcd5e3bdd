#include "jinja/string.h"

#include <algorithm>

#include "text/utf8.h"

namespace longhaul::jinja {

void String::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), origin});
  }
}

void String::append(const String& other, size_t begin, size_t end) {
  const auto by_end = [](size_t at, const Run& run) { return at < run.end; };
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin, by_end);
  while (begin < end) {
    const size_t stop = std::min(run->end, end);
    append(other.bytes().substr(begin, stop - begin), run->origin);
    begin = stop;
    ++run;
  }
}

String String::slice(size_t begin, size_t end) const {
  String part;
  part.append(*this, begin, end);
  return part;
}

Origin String::origin_at(size_t byte) const {
  const auto by_end = [](size_t at, const Run& run) { return at < run.end; };
  return std::upper_bound(runs_.begin(), runs_.end(), byte, by_end)->origin;
}

String escaped(const String& text) {
  if (text.markup()) return text;
  constexpr std::string_view kMarks = "&<>'\"";
  constexpr std::string_view kNames[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  String out;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t mark = kMarks.find(text.bytes()[at]);
    if (mark == std::string_view::npos) {
      out.append(text, at, at + 1);
    } else {
      out.append(kNames[mark], text.origin_at(at));
    }
  }
  out.set_markup();
  return out;
}

size_t character_bytes(std::string_view text, size_t at) {
  if (static_cast<uint8_t>(text[at]) < 0x80) return 1;
  return read_utf8(text.substr(at)).bytes;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += character_bytes(text, at)) ++count;
  return count;
}

CharacterOffsets::CharacterOffsets(std::string_view text) : count_(text.size()) {
  const auto is_ascii = [](char c) { return static_cast<uint8_t>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return;
  for (size_t at = 0; at < text.size(); at += character_bytes(text, at)) offsets_.push_back(at);
  count_ = offsets_.size();
  offsets_.push_back(text.size());
}

bool is_python_space(uint32_t code_point) {
  return is_white_space(code_point) || (code_point >= 0x1C && code_point <= 0x1F);
}

ByteRange without_space(std::string_view text, bool at_front, bool at_back) {
  const auto is_space = [&](size_t at) {
    const Utf8Sequence sequence = read_utf8(text.substr(at));
    return sequence.status == Utf8Status::complete && is_python_space(sequence.code_point);
  };
  size_t begin = 0, end = text.size();
  while (at_front && begin < end && is_space(begin)) begin += character_bytes(text, begin);
  while (at_back && begin < end) {
    size_t last = end - 1;
    while (last > begin && (static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) --last;
    if (last + character_bytes(text, last) != end || !is_space(last)) break;
    end = last;
  }
  return {begin, end};
}

}  // namespace longhaul::jinja
