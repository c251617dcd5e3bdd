#include "documents/clean_text.h"

#include <utf8proc.h>

#include "text/utf8.h"

namespace longhaul {
namespace {

bool is_setting_mark(uint32_t c) {
  return c == 0xad || c == 0x61c || c == 0x200b || c == 0x200e || c == 0x200f ||
         (c >= 0x202a && c <= 0x202e) || c == 0x2060 || (c >= 0x2066 && c <= 0x2069) ||
         c == 0xfeff || (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0);
}

bool is_space_of_print(uint32_t c) {
  return c == 0xa0 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f;
}

bool is_presentation_form(uint32_t c) {
  return (c >= 0xfb00 && c <= 0xfdff) || (c >= 0xfe70 && c <= 0xfefc);
}

void append_letters(uint32_t form, std::string& text) {
  utf8proc_int32_t letters[32];  // the longest form has 18
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(form), letters, std::size(letters),
      static_cast<utf8proc_option_t>(UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE), &boundary);
  if (count <= 0 || count > static_cast<utf8proc_ssize_t>(std::size(letters))) {
    append_utf8(form, text);
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    append_utf8(static_cast<uint32_t>(letters[i]), text);
  }
}

}  // namespace

void append_utf8(uint32_t code_point, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const auto known = utf8proc_codepoint_valid(static_cast<utf8proc_int32_t>(code_point));
  const utf8proc_ssize_t count =
      utf8proc_encode_char(known ? static_cast<utf8proc_int32_t>(code_point) : 0xfffd, bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

std::string clean_converted(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Utf8Sequence next = read_utf8(text);
    const std::string_view bytes = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (next.status != Utf8Status::complete) {
      clean += kReplacementCharacter;
    } else if (is_setting_mark(next.code_point)) {
      continue;
    } else if (is_space_of_print(next.code_point)) {
      clean += ' ';
    } else if (is_presentation_form(next.code_point)) {
      append_letters(next.code_point, clean);
    } else {
      clean += bytes;
    }
  }
  return clean;
}

}  // namespace longhaul
