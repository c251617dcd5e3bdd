#include "documents/charsets.h"

#include <algorithm>
#include <cctype>

namespace longhaul {
namespace {

constexpr size_t kWideSniffed = 4096;

/// Number of zero bytes at each of four positions.
struct ZeroCounts {
  size_t places[4] = {0, 0, 0, 0};
  size_t bytes = 0;
};

ZeroCounts zero_counts(std::string_view begin) {
  ZeroCounts zeros;
  zeros.bytes = begin.size();
  for (size_t i = 0; i < begin.size(); ++i) zeros.places[i % 4] += begin[i] == '\0' ? 1 : 0;
  return zeros;
}

/// Letters in UTF-32 have one or two zero bytes at the high end of every four.
std::string unmarked_utf32(const ZeroCounts& zeros) {
  const size_t units = zeros.bytes / 4;
  constexpr size_t kTelling = 3;  // letters; a smaller number is not evidence
  if (units < kTelling) return "";
  const auto nearly_all = [units](size_t count) { return 20 * count >= 19 * units; };
  const auto nearly_none = [units](size_t count) { return 10 * count <= units; };
  if (nearly_all(zeros.places[3]) && nearly_all(zeros.places[2]) && nearly_none(zeros.places[0])) {
    return "UTF-32LE";
  }
  if (nearly_all(zeros.places[0]) && nearly_all(zeros.places[1]) && nearly_none(zeros.places[3])) {
    return "UTF-32BE";
  }
  return "";
}

/// In UTF-16 western text has a zero in every second byte and hardly anywhere else.
std::string unmarked_utf16(const ZeroCounts& counts) {
  const size_t zeros[2] = {counts.places[0] + counts.places[2],
                           counts.places[1] + counts.places[3]};
  const size_t side = zeros[1] > zeros[0] ? 1 : 0;
  constexpr size_t kTelling = 6;  // bytes; a smaller number is not evidence
  if (counts.bytes < kTelling) return "";
  const bool zero_by_turns = zeros[side] > 0 && 10 * zeros[1 - side] <= zeros[side];
  if (!zero_by_turns || 3 * zeros[side] < counts.bytes) return "";
  return side == 0 ? "UTF-16BE" : "UTF-16LE";
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

struct CharsetLabel {
  std::string_view label, encoding;
};

// Labels that mean another encoding on the web than their name indicates (Encoding Standard, 4.2).
constexpr CharsetLabel kLabels[] = {{"utf8", "UTF-8"},
                                    {"utf-16", "UTF-8"},
                                    {"utf-16le", "UTF-8"},
                                    {"utf-16be", "UTF-8"},
                                    {"iso-8859-1", "CP1252"},
                                    {"iso8859-1", "CP1252"},
                                    {"latin1", "CP1252"},
                                    {"latin-1", "CP1252"},
                                    {"l1", "CP1252"},
                                    {"ascii", "CP1252"},
                                    {"us-ascii", "CP1252"},
                                    {"windows-1252", "CP1252"},
                                    {"cp1252", "CP1252"},
                                    {"iso-8859-9", "CP1254"},
                                    {"latin5", "CP1254"},
                                    {"iso-8859-11", "CP874"},
                                    {"tis-620", "CP874"},
                                    {"windows-874", "CP874"},
                                    {"gb2312", "GB18030"},
                                    {"gbk", "GB18030"},
                                    {"x-gbk", "GB18030"},
                                    {"gb_2312-80", "GB18030"},
                                    {"chinese", "GB18030"},
                                    {"big5", "BIG5-HKSCS"},
                                    {"shift_jis", "CP932"},
                                    {"shift-jis", "CP932"},
                                    {"sjis", "CP932"},
                                    {"x-sjis", "CP932"},
                                    {"ms_kanji", "CP932"},
                                    {"windows-31j", "CP932"},
                                    {"euc-kr", "CP949"},
                                    {"ks_c_5601-1987", "CP949"},
                                    {"korean", "CP949"},
                                    {"x-euc-jp", "EUC-JP"},
                                    {"x-mac-roman", "MACINTOSH"},
                                    {"macintosh", "MACINTOSH"},
                                    {"x-mac-cyrillic", "MAC-CYRILLIC"},
                                    {"koi", "KOI8-R"},
                                    {"koi8", "KOI8-R"},
                                    {"koi8-ru", "KOI8-U"},
                                    {"logical", "ISO-8859-8"},
                                    {"visual", "ISO-8859-8"},
                                    {"iso-8859-8-i", "ISO-8859-8"},
                                    {"x-user-defined", "CP1252"}};

/// iconv's name of a label.
std::string encoding_of_label(std::string_view text) {
  const std::string label = lower_ascii(text);
  const auto* found = std::ranges::find(kLabels, label, &CharsetLabel::label);
  if (found != std::end(kLabels)) return std::string(found->encoding);
  for (const std::string_view prefix : {"windows-", "x-cp"}) {
    if (label.starts_with(prefix)) return "CP" + label.substr(prefix.size());
  }
  return label;
}

/// The value after `key` and "=" in a tag, without quotes.
std::string_view charset_value(std::string_view tag, std::string_view key) {
  constexpr std::string_view kBlanks = " \t\r\n";
  for (size_t at = tag.find(key); at != std::string_view::npos; at = tag.find(key, at + 1)) {
    std::string_view rest = tag.substr(at + key.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    if (!rest.starts_with('=')) continue;
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n\"'"), rest.size()));
    return rest.substr(0, rest.find_first_of(" \t\r\n\"'/;?>"));
  }
  return {};
}

}  // namespace

Charset wide_charset(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\xff\xfe\0\0"sv)) return {"UTF-32LE", 4};
  if (bytes.starts_with("\0\0\xfe\xff"sv)) return {"UTF-32BE", 4};
  if (bytes.starts_with("\xff\xfe")) return {"UTF-16LE", 2};
  if (bytes.starts_with("\xfe\xff")) return {"UTF-16BE", 2};
  const ZeroCounts zeros = zero_counts(bytes.substr(0, kWideSniffed));
  if (std::string name = unmarked_utf32(zeros); !name.empty()) return {name, 0};
  return {unmarked_utf16(zeros), 0};
}

std::string declared_charset(std::string_view bytes) {
  const std::string begin = lower_ascii(bytes.substr(0, kWideSniffed));
  const std::string_view text = begin;
  if (text.starts_with("<?xml")) {
    const std::string_view label = charset_value(text.substr(0, text.find('>')), "encoding");
    if (!label.empty()) return encoding_of_label(label);
  }
  for (size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (text.substr(at).starts_with("<!--")) {
      at = std::min(text.find("-->", at), text.size() - 1);
      continue;
    }
    if (!text.substr(at).starts_with("<meta")) continue;
    const std::string_view label =
        charset_value(text.substr(at, text.find('>', at) - at), "charset");
    if (!label.empty()) return encoding_of_label(label);
  }
  return "";
}

}  // namespace longhaul
