#include "jinja/letters.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace longhaul::jinja {
namespace {

enum class Case : uint8_t { lower, upper, other };

Case case_of(uint32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LL:
      return Case::lower;
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return Case::upper;
    default:
      return Case::other;
  }
}

bool is_letter(uint32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_digit(uint32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}

std::string in_case(uint32_t c, Case wanted) {
  constexpr uint32_t kSharpS = 0xDF;
  if (wanted == Case::upper && c == kSharpS) return "SS";
  const auto code = static_cast<utf8proc_int32_t>(c);
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(
      wanted == Case::upper ? utf8proc_toupper(code) : utf8proc_tolower(code), bytes);
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(count)};
}

/// Converts every character to the case chosen by `choose(character)`; broken UTF-8 is unchanged.
template <class Choose>
String recased(const String& text, const Choose& choose) {
  String out;
  for (size_t at = 0; at < text.size();) {
    const Utf8Sequence next = read_utf8(text.bytes().substr(at));
    const bool whole = next.status == Utf8Status::complete;
    const Case wanted = choose(whole ? next.code_point : 0);
    if (whole && wanted != Case::other) {
      out.append(in_case(next.code_point, wanted), text.origin_at(at));
    } else {
      out.append(text, at, at + next.bytes);
    }
    at += next.bytes;
  }
  return out;
}

/// Whether `holds` is true for every character, and the text is not empty.
template <class Holds>
bool all(std::string_view text, const Holds& holds) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Sequence next = read_utf8(text.substr(at));
    if (next.status != Utf8Status::complete || !holds(next.code_point)) return false;
    at += next.bytes;
  }
  return !text.empty();
}

bool all_in(std::string_view text, Case wanted) {
  bool found = false;
  const bool none_else = all(text, [&](uint32_t c) {
    const Case is = case_of(c);
    found = found || is == wanted;
    return is == wanted || is == Case::other;
  });
  return none_else && found;
}

}  // namespace

String lowered(const String& text) {
  return recased(text, [](uint32_t) { return Case::lower; });
}
String uppered(const String& text) {
  return recased(text, [](uint32_t) { return Case::upper; });
}
String swapped_case(const String& text) {
  return recased(text, [](uint32_t c) {
    const Case is = case_of(c);
    return is == Case::lower ? Case::upper : is == Case::upper ? Case::lower : Case::other;
  });
}
String capitalized(const String& text) {
  bool first = true;
  return recased(text,
                 [&](uint32_t) { return std::exchange(first, false) ? Case::upper : Case::lower; });
}
String titled(const String& text) {
  bool in_word = false;
  return recased(text, [&](uint32_t c) {
    const bool begins = !std::exchange(in_word, case_of(c) != Case::other);
    return begins ? Case::upper : Case::lower;
  });
}
String titled_words(const String& text) {
  constexpr std::string_view kBefore = "-([{<";
  bool begins = true;
  return recased(text, [&](uint32_t c) {
    const bool breaks = is_python_space(c) ||
                        (c < 0x80 && kBefore.find(static_cast<char>(c)) != std::string_view::npos);
    const bool first = std::exchange(begins, breaks);
    return first ? Case::upper : Case::lower;
  });
}

bool all_letters(std::string_view text) { return all(text, is_letter); }
bool all_digits(std::string_view text) { return all(text, is_digit); }
bool all_letters_or_digits(std::string_view text) {
  return all(text, [](uint32_t c) { return is_letter(c) || is_digit(c); });
}
bool all_space(std::string_view text) { return all(text, is_python_space); }
bool all_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}
bool all_lower(std::string_view text) { return all_in(text, Case::lower); }
bool all_upper(std::string_view text) { return all_in(text, Case::upper); }

}  // namespace longhaul::jinja
