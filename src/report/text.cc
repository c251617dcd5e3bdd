#include "report/text.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "base/units.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

/// Characters of XML 1.0, 2.2; surrogates cannot occur in UTF-8.
bool xml_character(uint32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return c != 0xFFFE && c != 0xFFFF;
}

std::string_view escaped(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

bool is_number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  std::strtod(copy.c_str(), &end);
  return !copy.empty() && *end == '\0';
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Sequence sequence = read_utf8(text);
    const std::string_view character = text.substr(0, sequence.bytes);
    if (sequence.status != Utf8Status::complete || !xml_character(sequence.code_point)) {
      out += kReplacementCharacter;
    } else if (const std::string_view entity = escaped(character[0]); !entity.empty()) {
      out += entity;
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

std::string csv_field(std::string_view text) {
  std::string field(text);
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != text.npos;
  if (formula && !is_number(text)) field = fmt::format("'{}", text);
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&' || c == '<' || c == '>') {
      out += escaped(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      if (std::string_view("|\\`*_[]").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string shortened(std::string_view text, size_t most) {
  std::string out;
  for (size_t count = 0; !text.empty(); ++count) {
    if (count == most) return out + "\xE2\x80\xA6";
    const size_t length = read_utf8(text).bytes;
    const char c = text[0];
    if (c == '\n' || c == '\r' || c == '\t') {
      out += ' ';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string file_part(std::string_view text) {
  constexpr size_t kLongest = 120;  // two parts make a file name, which systems limit to 255 bytes
  std::string part;
  for (const char c : text.substr(0, kLongest)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.';
    if (plain) {
      part += c;
    } else if (!part.empty() && part.back() != '-') {
      part += '-';
    }
  }
  while (!part.empty() && part.back() == '-') part.pop_back();
  return part.empty() ? "chart" : part;
}

std::string full_stop(std::string_view text) {
  const bool ended = !text.empty() && std::string_view(".!?").find(text.back()) != text.npos;
  return std::string(text) + (ended ? "" : ".");
}

std::string sentence(std::string_view text) {
  std::string out = full_stop(text);
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

std::string tokens_text(int64_t tokens) {
  constexpr int64_t kKilo = 1024, kMega = kKilo * kKilo;
  if (tokens >= kMega && tokens % kMega == 0) return with_commas(tokens / kMega) + "M";
  if (tokens >= kKilo && tokens % kKilo == 0) return with_commas(tokens / kKilo) + "K";
  return with_commas(tokens);
}

std::string length_text(int64_t length) { return length == 0 ? "own" : tokens_text(length); }

std::string length_title(int64_t length) {
  return length == 0 ? "Samples of their own length" : tokens_text(length) + " tokens";
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  const std::string rounded = fmt::format("{:.0f}", percent);
  // A decimal where it matters: near the ends a rounded 0 or 100 would be misleading.
  const bool near_end = (rounded == "0" && percent > 0.05) || (rounded == "100" && percent < 99.95);
  return near_end ? fmt::format("{:.1f}", percent) : rounded;
}

std::string p_value_text(double p) {
  if (p < 0.001) return "< 0.001";
  return p < 0.1 ? fmt::format("{:.3f}", p) : fmt::format("{:.2f}", p);
}

std::string signed_points(double share) {
  const double points = 100 * std::abs(share);
  const std::string digits =
      points < 0.95 ? fmt::format("{:.1f}", points) : fmt::format("{:.0f}", points);
  if (digits == "0.0") return "0";
  return fmt::format("{}{}", share < 0 ? "\xE2\x88\x92" : "+", digits);
}

std::string number_text(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e7)) return fmt::format("{:.2e}", value);
  if (size >= 1000) return with_commas(std::llround(value));
  return fmt::format("{:.{}f}", value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

}  // namespace longhaul
