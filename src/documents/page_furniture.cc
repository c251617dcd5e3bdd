#include "documents/page_furniture.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace longhaul {
namespace {

constexpr size_t kRows = 4;  // rows at each edge

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a character may surround a page number: "- 12 -", "[xii]".
bool surrounds_number(char c) {
  return std::string_view(" -[]()|.").find(c) != std::string_view::npos;
}

/// Whether the text is a single Roman number: "iv", "- iv -".
bool is_lone_roman(std::string_view text) {
  size_t letters = 0;
  for (const char c : text) {
    if (surrounds_number(c)) continue;
    if (std::string_view("ivxlcIVXLC").find(c) == std::string_view::npos) return false;
    ++letters;
  }
  return letters > 0 && letters <= 8;
}

/// The text with "#" in place of every number, also of a text that is a single Roman number.
std::string without_numbers(std::string_view text) {
  if (is_lone_roman(text)) return "#";
  std::string plain;
  for (const char c : text) {
    if (is_ascii_digit(c)) {
      if (!plain.ends_with('#')) plain += '#';
    } else if (c != ' ') {
      plain += c;
    }
  }
  return plain;
}

/// The only number of a text without letters: "12", "- 12 -", "[12]".
std::optional<int64_t> lone_number(std::string_view text) {
  const auto first = std::ranges::find_if(text, is_ascii_digit);
  const auto last = std::find_if_not(first, text.end(), is_ascii_digit);
  const auto is_other = [](char c) { return !surrounds_number(c); };
  if (first == text.end() || std::any_of(text.begin(), first, is_other) ||
      std::any_of(last, text.end(), is_other)) {
    return std::nullopt;
  }
  int64_t number = 0;
  const char* begin = text.data() + (first - text.begin());
  if (std::from_chars(begin, begin + (last - first), number).ec != std::errc()) return std::nullopt;
  return number;
}

/// Lines of one page at one edge, row by row from the edge inwards.
std::vector<std::vector<size_t>> rows_at_edge(const PdfPage& page, bool upper) {
  std::vector<size_t> order(page.lines.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto depth = [&](size_t i) { return upper ? page.lines[i].y0 : -page.lines[i].y1; };
  std::ranges::stable_sort(order, {}, depth);
  std::vector<std::vector<size_t>> rows;
  double row_depth = 0;
  for (const size_t i : order) {
    if (rows.empty() || depth(i) - row_depth > 0.5 * page.lines[i].height()) {
      if (rows.size() == kRows) break;
      rows.emplace_back();
      row_depth = depth(i);
    }
    rows.back().push_back(i);
  }
  return rows;
}

class Furniture {
 public:
  explicit Furniture(std::vector<PdfPage>& pages) : pages_(pages) {}

  void remove() {
    count_edge(true);
    count_edge(false);
    for (const bool upper : {true, false}) {
      count_edge(upper);
      for (size_t p = 0; p < pages_.size(); ++p) mark_edge(p, upper);
    }
    for (size_t p = 0; p < pages_.size(); ++p) {
      size_t at = 0;
      std::erase_if(pages_[p].lines, [&](const PageLine&) { return marked_.contains({p, at++}); });
    }
  }

 private:
  void count_edge(bool upper) {
    repeats_.clear();
    texts_ = 0;
    edges_.clear();
    for (size_t p = 0; p < pages_.size(); ++p) {
      edges_.push_back(rows_at_edge(pages_[p], upper));
      texts_ += pages_[p].lines.empty() ? 0 : 1;
      std::set<std::string> here;
      std::set<int64_t> numbers;
      for (const auto& row : edges_.back()) {
        for (const size_t i : row) {
          const std::string& text = pages_[p].lines[i].text;
          here.insert(without_numbers(text));
          if (const auto number = lone_number(text))
            numbers.insert(*number - static_cast<int64_t>(p));
        }
      }
      for (const std::string& text : here) ++repeats_[text];
      for (const int64_t offset : numbers) offsets_[offset].insert(p);
    }
  }

  /// Odd and even pages, and chapters, may have different lines, so a line that occurs on four of
  /// ten pages counts.
  bool on_most(size_t count) const {
    return count >= 2 && 10 * count >= 4 * texts_ && (texts_ > 2 || count == 2);
  }

  bool is_furniture(size_t page, const PageLine& line, bool apart) const {
    if (const auto number = lone_number(line.text)) {
      const auto offset = offsets_.find(*number - static_cast<int64_t>(page));
      if (offset != offsets_.end() && on_most(offset->second.size())) return true;
      if (texts_ == 1 && apart && *number == static_cast<int64_t>(page) + 1) return true;
      return false;
    }
    const auto repeat = repeats_.find(without_numbers(line.text));
    return repeat != repeats_.end() && on_most(repeat->second);
  }

  /// Marks the lines that repeat in the outermost rows. Only rows that a gap separates from the
  /// text are considered, since a line of the text may repeat by chance.
  void mark_edge(size_t page, bool upper) {
    const auto& rows = edges_[page];
    std::vector<size_t> found, sure;
    for (size_t r = 0; r < rows.size(); ++r) {
      bool any = false, all = true;
      for (const size_t i : rows[r]) {
        const bool apart = r + 1 == rows.size() || is_apart(page, rows[r], rows[r + 1], upper);
        const bool repeats = is_furniture(page, pages_[page].lines[i], apart);
        if (repeats) found.push_back(i);
        any = any || repeats;
        all = all && repeats;
      }
      if (!any) break;
      const bool alone = rows.size() == 1;  // on a page that may be scanned
      if (alone || (r + 1 < rows.size() && is_apart(page, rows[r], rows[r + 1], upper)))
        sure = found;
      if (!all) break;
    }
    for (const size_t i : sure) marked_.insert({page, i});
  }

  /// Whether more than the usual space between lines separates two rows.
  bool is_apart(size_t page, const std::vector<size_t>& outer, const std::vector<size_t>& inner,
                bool upper) const {
    constexpr double kGap = 0.6;  // heights of a line
    double gap = 1e9, height = 0;
    for (const size_t i : outer) {
      const PageLine& line = pages_[page].lines[i];
      height = std::max(height, line.height());
      for (const size_t j : inner) {
        const PageLine& other = pages_[page].lines[j];
        gap = std::min(gap, upper ? other.y0 - line.y1 : line.y0 - other.y1);
      }
    }
    return gap > kGap * height;
  }

  std::vector<PdfPage>& pages_;
  std::vector<std::vector<std::vector<size_t>>> edges_;  ///< per page: rows of lines
  std::map<std::string, size_t> repeats_;                ///< pages on which a text occurs
  std::map<int64_t, std::set<size_t>> offsets_;  ///< pages on which a number occurs at an edge, by
                                                 ///< number - page
  size_t texts_ = 0;                             ///< number of pages with text
  std::set<std::pair<size_t, size_t>> marked_;
};

}  // namespace

void remove_page_furniture(std::vector<PdfPage>& pages) { Furniture(pages).remove(); }

}  // namespace longhaul
