#include "documents/rtf_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "documents/clean_text.h"
#include "text/encodings.h"

namespace longhaul {
namespace {

struct CodePage {
  int number = 0;
  const char* encoding = nullptr;
};

// Code page numbers of Windows, and the names that iconv uses.
constexpr CodePage kCodePages[] = {
    {437, "CP437"},   {708, "ISO-8859-6"},  {737, "CP737"},     {775, "CP775"},   {850, "CP850"},
    {852, "CP852"},   {855, "CP855"},       {857, "CP857"},     {860, "CP860"},   {861, "CP861"},
    {862, "CP862"},   {863, "CP863"},       {864, "CP864"},     {865, "CP865"},   {866, "CP866"},
    {869, "CP869"},   {874, "CP874"},       {932, "CP932"},     {936, "GBK"},     {949, "CP949"},
    {950, "CP950"},   {1250, "CP1250"},     {1251, "CP1251"},   {1252, "CP1252"}, {1253, "CP1253"},
    {1254, "CP1254"}, {1255, "CP1255"},     {1256, "CP1256"},   {1257, "CP1257"}, {1258, "CP1258"},
    {1361, "JOHAB"},  {10000, "MACINTOSH"}, {54936, "GB18030"}, {65001, "UTF-8"}};

const char* encoding_of_page(int number) {
  const auto* found = std::ranges::find(kCodePages, number, &CodePage::number);
  return found == std::end(kCodePages) ? "CP1252" : found->encoding;
}

/// The code page of \fcharsetN; 0: that of the file.
int page_of_charset(int charset) {
  constexpr std::pair<int, int> kPages[] = {
      {77, 10000}, {128, 932},  {129, 949},  {130, 1361}, {134, 936},  {136, 950},
      {161, 1253}, {162, 1254}, {163, 1258}, {177, 1255}, {178, 1256}, {186, 1257},
      {204, 1251}, {222, 874},  {238, 1250}, {254, 437},  {255, 850}};
  const auto* found = std::ranges::find(kPages, charset, &std::pair<int, int>::first);
  return found == std::end(kPages) ? 0 : found->second;
}

constexpr int kSymbolCharset = 2;

struct RtfState {
  bool skip = false;   ///< a destination without text
  bool fonts = false;  ///< inside the table of fonts
  bool hidden = false;
  bool footnote = false;
  int font = 0;
  int unicode_skip = 1;  ///< characters after \u for readers without Unicode
};

struct RtfWord {
  std::string_view name;
  std::optional<int> number;
};

bool is_skipped_destination(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "colortbl", "stylesheet", "info",       "pict",     "header",    "headerl",
      "headerr",  "headerf",    "footer",     "footerl",  "footerr",   "footerf",
      "fldinst",  "object",     "themedata",  "xmlnstbl", "listtable", "listoverridetable",
      "rsidtbl",  "generator",  "filetbl",    "revtbl",   "bkmkstart", "bkmkend",
      "tc",       "xe",         "nonshppict", "private",  "datafield", "operator"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

/// The character of a control word; 0: none.
uint32_t character_of(std::string_view name) {
  constexpr std::pair<std::string_view, uint32_t> kCharacters[] = {
      {"emdash", 0x2014}, {"endash", 0x2013},    {"bullet", 0x2022},    {"lquote", 0x2018},
      {"rquote", 0x2019}, {"ldblquote", 0x201c}, {"rdblquote", 0x201d}, {"emspace", ' '},
      {"enspace", ' '},   {"tab", '\t'},         {"line", '\n'}};
  const auto* found =
      std::ranges::find(kCharacters, name, &std::pair<std::string_view, uint32_t>::first);
  return found == std::end(kCharacters) ? 0 : found->second;
}

class RtfReader {
 public:
  explicit RtfReader(std::string_view bytes) : bytes_(bytes) {}

  HeadedText read() {
    while (at_ < bytes_.size()) {
      const char c = bytes_[at_];
      if (c == '{') {
        ++at_;
        open();
      } else if (c == '}') {
        ++at_;
        close();
      } else if (c == '\\') {
        ++at_;
        control();
      } else {
        ++at_;
        if (c != '\r' && c != '\n') byte(c);
      }
    }
    flush();
    in_row_ = state_.footnote = false;
    end_paragraph();
    return composed();
  }

 private:
  struct Paragraph {
    std::string text;
    bool heading = false, row = false;
  };

  void open() {
    flush();
    // Deeper groups share the state of the deepest stored one.
    constexpr size_t kDeepest = 10000;
    if (states_.size() < kDeepest) {
      states_.push_back(state_);
    } else {
      ++too_deep_;
    }
    group_begins_ = true;
  }

  void close() {
    flush();
    const bool note_ends = state_.footnote && !states_.empty() && !states_.back().footnote;
    if (too_deep_ > 0) {
      --too_deep_;
      return;
    }
    if (states_.empty()) return;
    if (note_ends) {
      while (!line_.empty() && line_.back() == ' ') line_.pop_back();
      line_ += ')';
    }
    state_ = states_.back();
    states_.pop_back();
  }

  void control() {
    if (at_ == bytes_.size()) return;
    const char c = bytes_[at_];
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word(take_word());
      return;
    }
    ++at_;
    switch (c) {
      case '\'':
        hexadecimal();
        break;
      case '*':
        state_.skip = true;
        break;
      case '~':
        byte(' ');
        break;
      case '_':
        byte('-');
        break;
      case '-':
        break;  // a soft hyphen
      case '\r':
      case '\n':
        end_paragraph();
        break;
      case '\\':
      case '{':
      case '}':
        byte(c);
        break;
      default:
        break;
    }
  }

  RtfWord take_word() {
    const size_t begin = at_;
    while (at_ < bytes_.size() && std::isalpha(static_cast<unsigned char>(bytes_[at_])) != 0) ++at_;
    RtfWord word{bytes_.substr(begin, at_ - begin), std::nullopt};
    const size_t digits = at_;
    if (at_ < bytes_.size() && bytes_[at_] == '-') ++at_;
    while (at_ < bytes_.size() && std::isdigit(static_cast<unsigned char>(bytes_[at_])) != 0) ++at_;
    int number = 0;
    const auto [end, error] = std::from_chars(bytes_.data() + digits, bytes_.data() + at_, number);
    if (error == std::errc() && end == bytes_.data() + at_ && at_ > digits) word.number = number;
    if (at_ < bytes_.size() && bytes_[at_] == ' ') ++at_;
    return word;
  }

  void hexadecimal() {
    int value = 0;
    const size_t length = std::min<size_t>(2, bytes_.size() - at_);
    const auto [end, error] =
        std::from_chars(bytes_.data() + at_, bytes_.data() + at_ + length, value, 16);
    if (error != std::errc() || end != bytes_.data() + at_ + 2) return;
    at_ += 2;
    byte(static_cast<char>(value));
  }

  void word(const RtfWord& word) {
    const bool begins = group_begins_;
    group_begins_ = false;
    const int number = word.number.value_or(1);
    if (word.name == "bin") {
      at_ += std::min(bytes_.size() - at_, static_cast<size_t>(std::max(0, number)));
    } else if (word.name == "fonttbl") {
      state_.fonts = true;
    } else if (begins && is_skipped_destination(word.name)) {
      state_.skip = true;
    } else if (word.name == "ansicpg") {
      file_page_ = number;
    } else if (word.name == "mac" || word.name == "pc" || word.name == "pca") {
      file_page_ = word.name == "mac" ? 10000 : word.name == "pc" ? 437 : 850;
    } else if (word.name == "f" || (word.name == "deff" && states_.size() < 2)) {
      flush();
      state_.font = word.number.value_or(0);
    } else if (word.name == "plain") {
      flush();
      state_.hidden = false;
    } else if (word.name == "fcharset" && state_.fonts) {
      constexpr size_t kMostFonts = 10000;
      if (fonts_.size() < kMostFonts) fonts_[state_.font] = number;
    } else if (word.name == "uc") {
      state_.unicode_skip = std::clamp(number, 0, 16);
    } else if (word.name == "v") {
      flush();
      state_.hidden = word.number.value_or(1) != 0;
    } else if (word.name == "u" && word.number) {
      unicode(*word.number);
    } else if (!state_.skip && !state_.fonts) {
      layout(word);
    }
  }

  /// Control words that end paragraphs and cells, or represent characters.
  void layout(const RtfWord& word) {
    if (word.name == "par" || word.name == "sect" || word.name == "page") {
      end_paragraph();
    } else if (word.name == "trowd") {
      in_row_ = true;
    } else if (word.name == "pard") {
      heading_ = false;
    } else if (word.name == "outlinelevel") {
      heading_ = word.number.value_or(9) < 9;
    } else if (word.name == "cell" || word.name == "nestcell") {
      flush();
      cells_.push_back(std::move(line_));
      line_.clear();
    } else if (word.name == "row" || word.name == "nestrow") {
      end_row();
    } else if (word.name == "footnote") {
      flush();
      state_.footnote = true;
      line_ += " (";
    } else if (const uint32_t c = character_of(word.name); c != 0) {
      flush();
      append_shown(c);
    }
  }

  bool shows() const { return !state_.skip && !state_.fonts && !state_.hidden; }

  void append_shown(uint32_t c) {
    if (shows()) append_utf8(c, line_);
  }

  void unicode(int number) {
    flush();
    const auto unit = static_cast<uint32_t>(number < 0 ? number + 0x10000 : number);
    if (unit >= 0xd800 && unit < 0xdc00) {
      high_ = unit;
    } else if (unit >= 0xdc00 && unit < 0xe000) {
      if (high_ != 0) append_shown(0x10000 + ((high_ - 0xd800) << 10) + (unit - 0xdc00));
      high_ = 0;
    } else {
      append_shown(unit);
      high_ = 0;
    }
    to_skip_ = state_.unicode_skip;
  }

  void byte(char c) {
    group_begins_ = false;
    if (to_skip_ > 0) {
      --to_skip_;
      return;
    }
    if (shows()) run_ += c;
  }

  /// Decodes the bytes of one font.
  void flush() {
    to_skip_ = 0;
    if (run_.empty()) return;
    const auto font = fonts_.find(state_.font);
    const int charset = font == fonts_.end() ? 0 : font->second;
    if (charset == kSymbolCharset) {
      for (const char c : run_) {
        const auto byte_value = static_cast<unsigned char>(c);
        append_utf8(byte_value == 0xb7 || byte_value == 0xa7 ? 0x2022 : byte_value, line_);
      }
    } else if (std::ranges::all_of(run_,
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
      line_ += run_;
    } else {
      const int page = page_of_charset(charset);
      size_t broken = 0;
      line_ += to_utf8(run_, encoding_of_page(page != 0 ? page : file_page_), broken);
    }
    run_.clear();
  }

  static std::string trimmed(const std::string& text) {
    const std::string clean = clean_converted(text);
    const size_t begin = clean.find_first_not_of(" \t\n");
    return begin == std::string::npos
               ? ""
               : clean.substr(begin, clean.find_last_not_of(" \t\n") + 1 - begin);
  }

  void end_paragraph() {
    flush();
    if (in_row_ || state_.footnote) {  // a paragraph inside a cell or a note
      line_ += ' ';
      return;
    }
    paragraphs_.push_back({trimmed(line_), heading_, false});
    line_.clear();
  }

  void end_row() {
    flush();
    std::string row;
    for (const std::string& cell : cells_) {
      std::string text = trimmed(cell);
      std::ranges::replace(text, '\n', ' ');
      row += (&cell == &cells_.front() ? "" : " | ") + text;
    }
    cells_.clear();
    line_.clear();
    in_row_ = false;
    paragraphs_.push_back({row, false, true});
  }

  /// Authors who separate paragraphs by empty ones use single ones to end lines.
  HeadedText composed() {
    size_t texts = 0, between = 0;
    for (size_t i = 0; i < paragraphs_.size(); ++i) {
      texts += paragraphs_[i].text.empty() ? 0 : 1;
      const bool inner = i > 0 && i + 1 < paragraphs_.size();
      between += inner && paragraphs_[i].text.empty() && !paragraphs_[i - 1].text.empty() ? 1 : 0;
    }
    const bool empty_between = 4 * between >= texts && between > 0;
    HeadedText result;
    bool row_before = false, gap = false;
    for (const Paragraph& paragraph : paragraphs_) {
      if (paragraph.text.empty()) {
        gap = true;
        continue;
      }
      if (!result.text.empty()) {
        const bool lines = (paragraph.row && row_before) || (empty_between && !gap);
        result.text += lines ? "\n" : "\n\n";
      }
      if (paragraph.heading) result.headings.push_back({result.text.size(), paragraph.text});
      result.text += paragraph.text;
      row_before = paragraph.row;
      gap = false;
    }
    if (!result.text.empty()) result.text += '\n';
    return result;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  RtfState state_;
  std::vector<RtfState> states_;
  size_t too_deep_ = 0;  ///< open groups beyond those in states_
  bool group_begins_ = false;
  int file_page_ = 1252;
  std::map<int, int> fonts_;  ///< charsets by number of the font
  std::string run_;           ///< undecoded bytes in the code page of the font
  std::string line_;
  std::vector<std::string> cells_;
  std::vector<Paragraph> paragraphs_;
  bool heading_ = false, in_row_ = false;
  uint32_t high_ = 0;  ///< first half of a surrogate pair
  int to_skip_ = 0;
};

}  // namespace

HeadedText text_of_rtf(std::string_view bytes) { return RtfReader(bytes).read(); }

}  // namespace longhaul
