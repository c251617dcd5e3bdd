#include "eval/score_text.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/utf8.h"

namespace longhaul {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

void append_utf8(std::string& text, char32_t character) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  for (utf8proc_ssize_t i = 0; i < n; ++i) text.push_back(static_cast<char>(bytes[i]));
}

utf8proc_category_t category(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

/// Whether a character is part of a word for a regular expression's \b.
bool is_word_character(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return c == '_';
  }
}

/// Punctuation that LongBench and InfiniteBench remove from Chinese answers (besides ASCII's).
constexpr std::u32string_view kChinesePunctuation =
    U"！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔"
    U"〕〖〗〘"
    U"〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏";

char32_t lower(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

}  // namespace

std::u32string to_characters(std::string_view text) {
  std::u32string characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    const Utf8Sequence next = read_utf8(text);
    characters.push_back(next.status == Utf8Status::complete ? char32_t{next.code_point}
                                                             : kReplacement);
    text.remove_prefix(next.bytes);
  }
  return characters;
}

std::string to_utf8(std::u32string_view characters) {
  std::string text;
  text.reserve(characters.size());
  for (const char32_t c : characters) append_utf8(text, c);
  return text;
}

std::string lower_case(std::string_view text) {
  std::u32string characters = to_characters(text);
  for (char32_t& c : characters) c = lower(c);
  return to_utf8(characters);
}

std::string_view trim(std::string_view text) { return trim_back(trim_front(text)); }

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char32_t c : to_characters(text)) {
    if (!is_white_space(c)) {
      append_utf8(word, c);
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::string blank_out(std::string_view text, std::string_view bytes) {
  std::string out(text);
  for (char& c : out) {
    if (bytes.find(c) != std::string_view::npos) c = ' ';
  }
  return out;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::vector<std::string> digit_runs(std::string_view text) {
  std::vector<std::string> runs;
  bool inside = false;
  for (const char32_t c : to_characters(text)) {
    const bool digit = category(c) == UTF8PROC_CATEGORY_ND;
    if (digit && !inside) runs.emplace_back();
    if (digit) append_utf8(runs.back(), c);
    inside = digit;
  }
  return runs;
}

std::vector<std::string> squad_words(std::string_view text) {
  std::u32string kept;
  for (const char32_t c : to_characters(text)) {
    if (!is_ascii_punctuation(lower(c))) kept.push_back(lower(c));
  }
  // Articles are removed if they are whole words; curly quotes and dashes also end a word.
  std::u32string without;
  for (size_t at = 0; at < kept.size();) {
    size_t end = at;
    while (end < kept.size() && is_word_character(kept[end])) ++end;
    if (end == at) {
      without.push_back(kept[at++]);
      continue;
    }
    const std::u32string_view word = std::u32string_view(kept).substr(at, end - at);
    without += word == U"a" || word == U"an" || word == U"the" ? std::u32string_view(U" ") : word;
    at = end;
  }
  return split_words(to_utf8(without));
}

std::vector<std::string> chinese_characters(std::string_view text) {
  std::vector<std::string> out;
  for (const char32_t character : to_characters(text)) {
    const char32_t c = lower(character);
    if (is_ascii_punctuation(c) || is_white_space(c) ||
        kChinesePunctuation.find(c) != std::u32string_view::npos) {
      continue;
    }
    append_utf8(out.emplace_back(), c);
  }
  return out;
}

}  // namespace longhaul
