#include "documents/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "documents/page_furniture.h"
#include "documents/page_order.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

bool is_ascii_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

uint32_t first_character(std::string_view text) {
  return text.empty() ? 0 : read_utf8(text).code_point;
}

uint32_t last_character(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    --begin;
    if ((static_cast<unsigned char>(text[begin]) & 0xc0) != 0x80) break;
  }
  return first_character(text.substr(begin));
}

/// Whether it is a lower-case letter in Latin, Greek or Cyrillic.
bool is_lower(uint32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 0xdf && c <= 0xff && c != 0xf7) ||
         (c >= 0x3ac && c <= 0x3ce) || (c >= 0x430 && c <= 0x45f) ||
         (c >= 0x100 && c <= 0x17f && c % 2 == 1);
}

bool is_letter(uint32_t c) {
  return (c < 0x80 && is_ascii_letter(static_cast<char>(c))) ||
         (c >= 0xc0 && c < 0x2000 && c != 0xd7 && c != 0xf7);
}

/// Scripts without spaces between words.
bool needs_no_space(uint32_t c) {
  return (c >= 0x2e80 && c <= 0x312f) || (c >= 0x31a0 && c <= 0x9fff) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0xff00 && c <= 0xffef) ||
         (c >= 0x20000 && c <= 0x3ffff);
}

bool ends_sentence(std::string_view text) {
  while (!text.empty() && std::string_view("\"')]").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  if (text.ends_with("”") || text.ends_with("’") || text.ends_with("»")) {
    text.remove_suffix(text.ends_with("»") ? 2 : 3);
  }
  const uint32_t c = last_character(text);
  return c == '.' || c == '!' || c == '?' || c == ':' || c == ';' || c == 0x2026 || c == 0x3002;
}

std::string_view first_word_of(std::string_view text) {
  return text.substr(0, std::min(text.find(' '), text.size()));
}

std::string_view last_word_of(std::string_view text) {
  const size_t space = text.rfind(' ');
  return space == std::string_view::npos ? text : text.substr(space + 1);
}

bool begins_item(std::string_view text) {
  const std::string_view word = first_word_of(text);
  return word.size() < text.size() && is_list_mark(word);
}

/// A word without surrounding punctuation, with ASCII letters in lower case.
std::string bare_word(std::string_view word) {
  std::string bare;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0 || c == '-') {
      bare += byte < 0x80 ? static_cast<char>(std::tolower(byte)) : c;
    }
  }
  while (bare.ends_with('-')) bare.pop_back();
  return bare;
}

/// Length of the hyphen within a word at the end of a line; 0 if there is none.
size_t hyphen_at_end(std::string_view text) {
  const size_t length = text.ends_with("\u2010") ? 3 : text.ends_with('-') ? 1 : 0;
  if (length == 0 || text.size() == length) return 0;
  const uint32_t before = last_character(text.substr(0, text.size() - length));
  return is_letter(before) || (before >= '0' && before <= '9') ? length : 0;
}

struct Joint {
  OrderedLine item;
  int64_t page = 0;
};

/// The edges of a column, and the distance between its lines.
struct ColumnShape {
  double left = 0, right = 0, pitch = 0;
  bool sure = false;  ///< more than one line reaches the right edge
};

ColumnShape column_shape(const std::vector<Joint>& lines, size_t begin, size_t end) {
  ColumnShape shape{1e9, -1e9, 0, false};
  std::vector<double> ends, pitches;
  for (size_t i = begin; i < end; ++i) {
    const PageLine& line = lines[i].item.line;
    shape.left = std::min(shape.left, line.x0);
    shape.right = std::max(shape.right, line.x1);
    ends.push_back(line.x1);
    if (i > begin) pitches.push_back(line.y1 - lines[i - 1].item.line.y1);
  }
  // Justified lines end at one position; a line beyond it does not define the edge.
  std::ranges::sort(ends);
  constexpr double kNear = 1.5;  // points
  size_t most = 0;
  for (size_t i = 0, j = 0; i < ends.size(); ++i) {
    while (ends[i] - ends[j] > kNear) ++j;
    const size_t count = i + 1 - j;
    if (count >= 4 && 3 * count >= ends.size() && count >= most) {
      most = count;
      shape.right = ends[i];
    }
  }
  shape.sure = std::ranges::count_if(ends, [&](double x) { return x > shape.right - 12; }) > 1;
  std::erase_if(pitches, [](double pitch) { return pitch <= 0; });
  std::ranges::sort(pitches);
  if (!pitches.empty()) shape.pitch = pitches[pitches.size() / 4];
  return shape;
}

class PageJoiner {
 public:
  explicit PageJoiner(std::vector<Joint> lines) : lines_(std::move(lines)) {
    for (const Joint& joint : lines_) add_words(joint.item.line.text);
    for (size_t begin = 0; begin < lines_.size();) {
      size_t end = begin + 1;
      while (end < lines_.size() && same_column(begin, end)) ++end;
      const ColumnShape shape = column_shape(lines_, begin, end);
      shapes_.insert(shapes_.end(), end - begin, shape);
      begin = end;
    }
  }

  std::string join() {
    int64_t page = 0;
    for (size_t i = 0; i < lines_.size(); ++i) {
      std::string_view line = lines_[i].item.line.text;
      if (lines_[i].page != page) {
        if (i > 0) line = take_rest(i, line);
        page = lines_[i].page;
        text_ += fmt::format("{}[page {}]\n", text_.empty() ? "" : "\n\n", page);
        text_ += line;
      } else {
        add(i, line);
      }
    }
    if (!text_.empty()) text_ += '\n';
    return std::move(text_);
  }

 private:
  enum class Break { kNone, kLine, kParagraph };

  void add_words(std::string_view text) {
    // The last word of a line may be a part of a word, and the first one as well.
    const size_t first = text.find(' '), last = text.rfind(' ');
    if (first == std::string_view::npos || first == last) return;
    text = text.substr(first + 1, last - first - 1);
    while (!text.empty()) {
      const std::string_view word = first_word_of(text);
      text.remove_prefix(std::min(word.size() + 1, text.size()));
      words_.insert(bare_word(word));
    }
  }

  bool same_column(size_t a, size_t b) const {
    return lines_[a].page == lines_[b].page && lines_[a].item.column == lines_[b].item.column;
  }

  void add(size_t i, std::string_view line) {
    switch (break_before(i)) {
      case Break::kParagraph:
        text_ += "\n\n";
        break;
      case Break::kLine:
        text_ += '\n';
        break;
      case Break::kNone:
        return go_on(i, line);
    }
    text_ += line;
  }

  /// Joins a line to the text so far.
  void go_on(size_t i, std::string_view line) {
    if (lines_[i - 1].item.line.soft_hyphen && is_lower(first_character(line))) {
      text_ += line;
      return;
    }
    if (const size_t hyphen = hyphen_at_end(text_); hyphen > 0) {
      if (is_conjunction(bare_word(first_word_of(line)))) {
        text_ += ' ';
      } else if (!keeps_hyphen(line)) {
        text_.resize(text_.size() - hyphen);
      }
    } else if (text_.ends_with("--") || text_.ends_with("—")) {
      // If a dash has no spaces inside lines, it has none at their ends.
      const std::string_view before =
          std::string_view(text_).substr(0, text_.size() - (text_.ends_with("--") ? 2 : 3));
      if (before.ends_with(' ')) text_ += ' ';
    } else if (!(needs_no_space(last_character(text_)) && needs_no_space(first_character(line)))) {
      text_ += ' ';
    }
    text_ += line;
  }

  /// Completes a word on the previous page that continues on page i. Returns the rest of the line.
  std::string_view take_rest(size_t i, std::string_view line) {
    if (!lines_[i - 1].item.line.soft_hyphen && hyphen_at_end(text_) == 0) return line;
    if (!is_lower(first_character(line))) return line;
    const std::string_view word = first_word_of(line);
    if (is_conjunction(bare_word(word)) || word.size() == line.size()) return line;
    go_on(i, word);
    return line.substr(word.size() + 1);
  }

  /// "import- und Export": the hyphen replaces a word that follows.
  static bool is_conjunction(std::string_view word) {
    constexpr std::string_view kWords[] = {"and", "or", "und", "oder", "bzw",
                                           "et",  "ou", "en",  "y"};
    return std::ranges::find(kWords, word) != std::end(kWords);
  }

  /// Whether the hyphen at the end of the text belongs to the word that `line` continues.
  bool keeps_hyphen(std::string_view line) const {
    if (!is_lower(first_character(line))) return true;
    const std::string head(last_word_of(std::string_view(text_)));
    const std::string first = bare_word(head), second = bare_word(first_word_of(line));
    if (words_.contains(first + second)) return false;
    if (words_.contains(first + "-" + second)) return true;
    constexpr size_t kShort = 4;  // a syllable may be a word by chance
    if (first.size() >= kShort && second.size() >= kShort && words_.contains(first) &&
        words_.contains(second)) {
      return true;
    }
    constexpr std::string_view kPrefixes[] = {"self",  "non",  "well",  "ex",   "half", "all",
                                              "cross", "long", "short", "high", "low",  "so"};
    if (std::ranges::find(kPrefixes, first) != std::end(kPrefixes)) return true;
    const std::string_view stem = std::string_view(first).substr(0, first.find('-'));
    return stem.size() < first.size() ||
           (!first.empty() && first.back() >= '0' && first.back() <= '9');
  }

  /// Whether the first word of line i would have fit at the end of the previous line.
  bool had_room(size_t i) const {
    const PageLine &before = lines_[i - 1].item.line, &line = lines_[i].item.line;
    const ColumnShape& shape = shapes_[i - 1];
    const double space = 0.2 * before.height();
    const double word =
        needs_no_space(first_character(line.text)) ? line.height() : line.first_word;
    const double room =
        reads_leftwards(before.text) ? before.x0 - shape.left : shape.right - before.x1;
    return word + space < room;
  }

  /// Indent of a line inside its column, in reading direction.
  double indent(size_t i) const {
    const PageLine& line = lines_[i].item.line;
    return reads_leftwards(line.text) ? shapes_[i].right - line.x1 : line.x0 - shapes_[i].left;
  }

  static bool splits_word(const PageLine& a, const PageLine& b) {
    return (a.soft_hyphen || hyphen_at_end(a.text) > 0) && is_lower(first_character(b.text));
  }

  static bool is_other_size(const PageLine& a, const PageLine& b) {
    constexpr double kRatio = 1.12;
    return a.height() > kRatio * b.height() || b.height() > kRatio * a.height();
  }

  Break break_before(size_t i) const {
    const OrderedLine &a = lines_[i - 1].item, &b = lines_[i].item;
    if (a.in_table && b.in_table) return Break::kLine;
    if (a.in_table || b.in_table) return Break::kParagraph;
    if (!same_column(i - 1, i)) return break_between_columns(i);
    const double pitch = b.line.y1 - a.line.y1, usual = shapes_[i].pitch;
    const bool gap = pitch > 1.25 * usual && pitch > usual + 1.5 && usual > 0;
    if (gap && pitch > 1.25 * b.line.height()) {
      if (begins_item(a.line.text) && begins_item(b.line.text)) return Break::kLine;
      return Break::kParagraph;
    }
    if (is_other_size(a.line, b.line)) return Break::kParagraph;
    if (begins_item(b.line.text) && (had_room(i) || !is_full(i - 1) || begins_list(i)))
      return Break::kLine;
    if (splits_word(a.line, b.line)) {
      return Break::kNone;
    }
    if (new_paragraph_by_indent(i))
      return begins_item(b.line.text) ? Break::kLine : Break::kParagraph;
    if (!had_room(i)) {
      const bool by_chance = !shapes_[i].sure && ends_sentence(a.line.text);
      return by_chance && !is_lower(first_character(b.line.text)) ? Break::kLine : Break::kNone;
    }
    const bool goes_on = is_lower(first_character(b.line.text)) && !ends_sentence(a.line.text);
    return goes_on ? Break::kNone : Break::kLine;
  }

  bool is_full(size_t i) const {
    const PageLine& line = lines_[i].item.line;
    const double left =
        reads_leftwards(line.text) ? line.x0 - shapes_[i].left : shapes_[i].right - line.x1;
    return left < 2 * line.height();
  }

  /// Whether a mark after a full line begins a list, instead of being a number or dash of a
  /// sentence: the previous line ends a sentence or is also an item.
  bool begins_list(size_t i) const {
    const std::string& before = lines_[i - 1].item.line.text;
    return ends_sentence(before) || begins_item(before);
  }

  /// Whether first lines of paragraphs are indented, or all lines but the first.
  bool new_paragraph_by_indent(size_t i) const {
    const double em = 0.6 * lines_[i].item.line.height();
    const double before = indent(i - 1), here = indent(i);
    if (here > before + em) {
      if (begins_item(lines_[i - 1].item.line.text)) return false;  // the item's own text
      const bool last = i + 1 == lines_.size() || !same_column(i, i + 1);
      if (last) return before < em;
      const double next = indent(i + 1);
      return next < here - em;
    }
    if (before > here + em && !is_first_of_indented(i - 1)) {
      return ends_sentence(lines_[i - 1].item.line.text);
    }
    return false;
  }

  /// Whether line i begins a paragraph by its indent, so that the next one is farther out.
  bool is_first_of_indented(size_t i) const {
    const double em = 0.6 * lines_[i].item.line.height();
    if (i == 0 || !same_column(i - 1, i)) return true;
    const PageLine &before = lines_[i - 1].item.line, &line = lines_[i].item.line;
    if (begins_item(line.text)) return true;
    const bool gap = line.y1 - before.y1 > 1.25 * shapes_[i].pitch;
    return gap || indent(i - 1) < indent(i) - em;
  }

  Break break_between_columns(size_t i) const {
    const PageLine &a = lines_[i - 1].item.line, &b = lines_[i].item.line;
    if (is_other_size(a, b) || begins_item(b.text)) return Break::kParagraph;
    if (splits_word(a, b)) return Break::kNone;
    const bool goes_on = !ends_sentence(a.text) && is_lower(first_character(b.text));
    const bool indented = indent(i) > 0.6 * b.height();
    return goes_on || (!had_room(i) && !indented && is_full(i - 1) && !ends_sentence(a.text))
               ? Break::kNone
               : Break::kParagraph;
  }

  std::vector<Joint> lines_;
  std::vector<ColumnShape> shapes_;  ///< by line
  std::unordered_set<std::string> words_;
  std::string text_;
};

}  // namespace

PageText text_of_pages(std::vector<PdfPage> pages, const PageRanges& chosen) {
  remove_page_furniture(pages);
  PageText result;
  std::vector<Joint> lines;
  Gutter gutter;
  for (size_t p = 0; p < pages.size(); ++p) {
    const auto number = static_cast<int64_t>(p) + 1;
    if (!chosen.contains(number)) continue;
    if (pages[p].lines.empty()) result.without.push_back(number);
    for (OrderedLine& line : in_reading_order(pages[p], gutter))
      lines.push_back({std::move(line), number});
  }
  result.text = PageJoiner(std::move(lines)).join();
  return result;
}

}  // namespace longhaul
