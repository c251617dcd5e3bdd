#include "text/utf8.h"

#include <algorithm>

namespace longhaul {

namespace {

struct LeadByte {
  uint32_t bytes;
  uint32_t bits;
  // range of the second byte: excludes overlong forms and surrogates
  uint8_t second_low, second_high;
};

bool classify(uint8_t lead, LeadByte& out) {
  if (lead >= 0xC2 && lead <= 0xDF) {
    out = {2, lead & 0x1Fu, 0x80, 0xBF};
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    out = {3, lead & 0x0Fu, uint8_t(lead == 0xE0 ? 0xA0 : 0x80),
           uint8_t(lead == 0xED ? 0x9F : 0xBF)};
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    out = {4, lead & 0x07u, uint8_t(lead == 0xF0 ? 0x90 : 0x80),
           uint8_t(lead == 0xF4 ? 0x8F : 0xBF)};
  } else {
    return false;
  }
  return true;
}

}  // namespace

Utf8Sequence read_utf8(std::string_view text) {
  const auto lead_byte = static_cast<uint8_t>(text[0]);
  if (lead_byte < 0x80) return {Utf8Status::complete, 1, lead_byte};
  LeadByte lead{};
  if (!classify(lead_byte, lead)) return {Utf8Status::broken, 1, 0};
  uint32_t code_point = lead.bits;
  for (uint32_t i = 1; i < lead.bytes; ++i) {
    if (i == text.size()) return {Utf8Status::truncated, i, 0};
    const auto byte = static_cast<uint8_t>(text[i]);
    const uint8_t low = i == 1 ? lead.second_low : 0x80;
    const uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) return {Utf8Status::broken, i, 0};
    code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {Utf8Status::complete, lead.bytes, code_point};
}

std::string_view repair_utf8(std::string_view text, std::string& storage, size_t* replaced) {
  size_t good_from = 0;
  bool changed = false;
  for (size_t at = 0; at < text.size();) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Sequence sequence = read_utf8(text.substr(at));
    if (sequence.status != Utf8Status::complete) {
      if (!changed) storage.clear();
      changed = true;
      storage.append(text.substr(good_from, at - good_from)).append(kReplacementCharacter);
      good_from = at + sequence.bytes;
      if (replaced != nullptr) ++*replaced;
    }
    at += sequence.bytes;
  }
  if (!changed) return text;
  storage.append(text.substr(good_from));
  return storage;
}

std::string take_complete_utf8(std::string& held) {
  std::string out;
  size_t at = 0;
  while (at < held.size()) {
    const std::string_view rest = std::string_view(held).substr(at);
    const Utf8Sequence sequence = read_utf8(rest);
    if (sequence.status == Utf8Status::truncated) break;
    out += sequence.status == Utf8Status::complete ? rest.substr(0, sequence.bytes)
                                                   : kReplacementCharacter;
    at += sequence.bytes;
  }
  held.erase(0, at);
  return out;
}

bool changes_layout(uint32_t code_point) {
  return code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
         (code_point >= 0x2028 && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

bool is_white_space(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::string_view trim_front(std::string_view text) {
  while (!text.empty()) {
    const Utf8Sequence sequence = read_utf8(text);
    if (sequence.status != Utf8Status::complete || !is_white_space(sequence.code_point)) break;
    text.remove_prefix(sequence.bytes);
  }
  return text;
}

std::string_view trim_back(std::string_view text) {
  while (!text.empty()) {
    // first byte of the last character: step back over continuation bytes
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
    const Utf8Sequence sequence = read_utf8(text.substr(begin));
    if (sequence.status != Utf8Status::complete || !is_white_space(sequence.code_point)) break;
    text = text.substr(0, begin);
  }
  return text;
}

}  // namespace longhaul
