#include "documents/page_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "text/utf8.h"

namespace longhaul {
namespace {

/// Parts of lines on one baseline, from left to right.
struct PageRow {
  std::vector<const PageLine*> parts;
  double y0 = 0, y1 = 0;

  double height() const { return y1 - y0; }
};

struct Stretch {
  double begin = 0, end = 0;
  double width() const { return end - begin; }
};

/// Pages with more lines keep the order of the program's output.
constexpr size_t kMostLines = 1000;
constexpr int kMostCuts = 6;      // columns within columns
constexpr size_t kLeastRows = 4;  // rows of columns

std::vector<PageRow> rows_of(std::vector<const PageLine*> lines) {
  std::ranges::stable_sort(lines, {}, [](const PageLine* line) { return line->y0 + line->y1; });
  std::vector<PageRow> rows;
  for (const PageLine* line : lines) {
    if (!rows.empty()) {
      PageRow& row = rows.back();
      const double shared = std::min(row.y1, line->y1) - std::max(row.y0, line->y0);
      const bool beside = std::ranges::none_of(row.parts, [&](const PageLine* part) {
        return std::min(part->x1, line->x1) - std::max(part->x0, line->x0) > 1;
      });
      if (beside && shared > 0.5 * std::min(row.height(), line->height())) {
        row.parts.push_back(line);
        row.y0 = std::min(row.y0, line->y0);
        row.y1 = std::max(row.y1, line->y1);
        continue;
      }
    }
    rows.push_back({{line}, line->y0, line->y1});
  }
  for (PageRow& row : rows) {
    std::ranges::stable_sort(row.parts, {}, [](const PageLine* line) { return line->x0; });
  }
  return rows;
}

/// The parts of each free stretch that a row leaves free.
std::vector<Stretch> beside_row(const std::vector<Stretch>& free, const PageRow& row) {
  std::vector<Stretch> left;
  for (Stretch stretch : free) {
    for (const PageLine* part : row.parts) {
      if (part->x1 <= stretch.begin || part->x0 >= stretch.end) continue;
      if (part->x0 - stretch.begin >= kWideGap) left.push_back({stretch.begin, part->x0});
      stretch.begin = part->x1;
    }
    if (stretch.width() >= kWideGap) left.push_back(stretch);
  }
  return left;
}

/// The rows on one side of a gutter.
struct Side {
  struct Row {
    double x0, x1, y0;
    size_t letters;
  };
  std::vector<Row> rows;
  double x0 = 1e9, x1 = -1e9;

  void add(const PageLine& part, bool same_row) {
    x0 = std::min(x0, part.x0);
    x1 = std::max(x1, part.x1);
    if (same_row) {
      rows.back().x1 = part.x1;
      rows.back().letters += part.text.size();
    } else {
      rows.push_back({part.x0, part.x1, part.y0, part.text.size()});
    }
  }
  /// Whether it has long rows that fill most of the width.
  bool is_prose(size_t least_rows) const {
    constexpr size_t kLetters = 18;
    constexpr double kFilled = 0.6;
    size_t letters = 0, filled = 0;
    for (const Row& row : rows) {
      letters += row.letters;
      filled += row.x1 - row.x0 > kFilled * (x1 - x0) ? 1 : 0;
    }
    return rows.size() >= least_rows && letters > kLetters * rows.size() &&
           2 * filled >= rows.size();
  }
  /// Upper edges of lines after a gap, at which paragraphs or cells of a table begin.
  std::vector<double> starts() const {
    std::vector<double> pitches;
    for (size_t i = 1; i < rows.size(); ++i) pitches.push_back(rows[i].y0 - rows[i - 1].y0);
    if (pitches.empty()) return {};
    std::vector<double> sorted = pitches;
    std::ranges::sort(sorted);
    const double usual = sorted[sorted.size() / 4];
    std::vector<double> found;
    for (size_t i = 0; i < pitches.size(); ++i) {
      if (pitches[i] > 1.2 * usual && pitches[i] > usual + 1) found.push_back(rows[i + 1].y0);
    }
    return found;
  }
};

/// Whether rows on both sides begin at the same heights, as cells of a table do.
bool begin_together(const Side& left, const Side& right) {
  constexpr double kNear = 2;  // points
  const std::vector<double> a = left.starts(), b = right.starts();
  if (a.size() < 2) return false;
  const auto shared = std::ranges::count_if(a, [&](double y) {
    return std::ranges::any_of(b, [&](double other) { return std::abs(other - y) < kNear; });
  });
  return 10 * static_cast<size_t>(shared) >= 8 * a.size();
}

class PageReader {
 public:
  explicit PageReader(const Gutter& known) : known_{known.begin, known.end} {}

  Gutter gutter() const { return {found_.begin, found_.end}; }

  std::vector<OrderedLine> read(const PdfPage& page) {
    std::vector<const PageLine*> lines;
    for (const PageLine& line : page.lines) lines.push_back(&line);
    region(lines, 0);
    return std::move(ordered_);
  }

 private:
  struct Columns {
    size_t end = 0;  ///< row after the last one
    Stretch gutter;
  };

  /// Appends the lines of a region: its columns, and the rows between them.
  void region(const std::vector<const PageLine*>& lines, int depth) {
    const std::vector<PageRow> rows = rows_of(lines);
    size_t begin = 0;  // rows outside of columns
    for (size_t i = 0; i < rows.size();) {
      Columns columns;
      if (depth < kMostCuts) columns = columns_from(rows, i);
      if (columns.end == 0) {
        ++i;
        continue;
      }
      plain_rows(rows, begin, i);
      if (depth == 0 && columns.end - i >= kLeastRows) found_ = columns.gutter;
      std::vector<const PageLine*> left, right;
      for (; i < columns.end; ++i) {
        for (const PageLine* part : rows[i].parts) {
          (part->x1 <= columns.gutter.begin + 0.5 ? left : right).push_back(part);
        }
      }
      region(left, depth + 1);
      region(right, depth + 1);
      begin = i;
    }
    plain_rows(rows, begin, rows.size());
  }

  /// Columns of prose that begin with row `from`, with as many rows as continue the gutter.
  Columns columns_from(const std::vector<PageRow>& rows, size_t from) const {
    constexpr double kFar = 1e7;
    constexpr double kGap = 4;  // heights of a row: columns end at a larger gap
    std::vector<Stretch> free = {{-kFar, kFar}};
    std::vector<std::vector<Stretch>> gutters;  // open to the text on both sides, by row
    for (size_t i = from; i < rows.size(); ++i) {
      const bool apart = i > from && rows[i].y0 - rows[i - 1].y1 > kGap * rows[i].height();
      if (apart) break;
      std::vector<Stretch> open = beside_row(free, rows[i]);
      std::vector<Stretch> inner = open;
      std::erase_if(inner, [](const Stretch& s) { return s.begin <= -kFar || s.end >= kFar; });
      // While all rows so far are on one side, there is no gutter yet.
      if (inner.empty() && (rows[i].parts.size() > 1 || open.size() < 2)) break;
      if (inner.empty() && !gutters.empty() && !gutters.back().empty()) break;
      free = std::move(open);
      gutters.push_back(std::move(inner));
    }
    constexpr size_t kTries = 8;
    const size_t step = std::max<size_t>(1, gutters.size() / kTries);
    for (size_t count = gutters.size(); count > 0; count -= std::min(step, count)) {
      std::vector<Stretch>& wide = gutters[count - 1];
      std::ranges::sort(wide, std::ranges::greater(), &Stretch::width);
      for (const Stretch& gutter : wide) {
        const size_t least = is_known(gutter) ? 1 : kLeastRows;
        if (are_columns(rows, from, from + count, gutter, least)) return {from + count, gutter};
      }
    }
    return {};
  }

  /// Whether columns of the previous page had this gutter.
  bool is_known(const Stretch& gutter) const {
    return gutter.begin < known_.end && gutter.end > known_.begin &&
           std::min(gutter.end, known_.end) - std::max(gutter.begin, known_.begin) >
               0.8 * std::min(known_.width(), gutter.width());
  }

  static bool are_columns(const std::vector<PageRow>& rows, size_t begin, size_t end,
                          const Stretch& gutter, size_t least) {
    Side left, right;
    for (size_t i = begin; i < end; ++i) {
      bool in_left = false, in_right = false;
      for (const PageLine* part : rows[i].parts) {
        const bool is_left = part->x1 <= gutter.begin + 0.5;
        bool& in_row = is_left ? in_left : in_right;
        (is_left ? left : right).add(*part, in_row);
        in_row = true;
      }
    }
    return left.is_prose(least) && right.is_prose(least) && !begin_together(left, right);
  }

  static std::vector<Stretch> gaps_of(const PageRow& row) {
    std::vector<Stretch> gaps;
    // A mark and its item are not cells.
    if (row.parts.size() == 2 && is_list_mark(row.parts[0]->text)) return {};
    double narrowest = 1e9, widest = 0, space = 0;
    for (size_t i = 0; i < row.parts.size(); ++i) {
      space = std::max(space, row.parts[i]->widest_space);
      if (i == 0) continue;
      gaps.push_back({row.parts[i - 1]->x1, row.parts[i]->x0});
      narrowest = std::min(narrowest, gaps.back().width());
      widest = std::max(widest, gaps.back().width());
    }
    // Justified lines have equal spaces, some of which are wide.
    const bool justified = gaps.size() > 2 && widest < 1.1 * narrowest;
    if (justified || space > 0.7 * narrowest) return {};
    return gaps;
  }

  /// The number of rows from `begin` on that form a table, with a gap at the same position.
  static size_t table_rows(const std::vector<PageRow>& rows, size_t begin, size_t end) {
    constexpr double kGap = 0.6, kGapOfTwo = 1.5;  // heights of a row
    std::vector<Stretch> shared = gaps_of(rows[begin]);
    double widest = 0;
    size_t count = 0;
    for (size_t i = begin; i < end && !shared.empty(); ++i) {
      std::vector<Stretch> both;
      for (const Stretch& gap : gaps_of(rows[i])) {
        for (const Stretch& other : shared) {
          const Stretch common = {std::max(gap.begin, other.begin), std::min(gap.end, other.end)};
          if (common.width() > kGap * rows[i].height()) both.push_back(common);
        }
      }
      if (both.empty()) break;
      shared = std::move(both);
      widest = std::ranges::max(shared, {}, &Stretch::width).width();
      ++count;
    }
    const bool telling = count > 2 || (count == 2 && widest > kGapOfTwo * rows[begin].height());
    return telling ? count : 0;
  }

  void plain_rows(const std::vector<PageRow>& rows, size_t begin, size_t end) {
    const int column = columns_++;
    size_t table_end = begin;
    for (size_t i = begin; i < end; ++i) {
      if (i >= table_end) table_end = i + table_rows(rows, i, end);
      add_row(rows[i], column, i < table_end);
    }
  }

  void add_row(const PageRow& row, int column, bool in_table) {
    OrderedLine joined{*row.parts.front(), column, in_table};
    const bool leftwards = reads_leftwards(row.parts.front()->text);
    const std::string space = in_table ? " | " : " ";
    std::string text;
    for (const PageLine* part : row.parts) {
      if (leftwards) {
        text = part->text + (text.empty() ? "" : space) + text;
      } else {
        text += (text.empty() ? "" : space) + part->text;
      }
      joined.line.x1 = std::max(joined.line.x1, part->x1);
    }
    const PageLine& last = *row.parts.back();
    if (leftwards) joined.line.first_word = last.first_word;
    joined.line.soft_hyphen = last.soft_hyphen;
    // A mark or a raised number does not move the line.
    const PageLine& widest =
        **std::ranges::max_element(row.parts, {}, [](const PageLine* p) { return p->x1 - p->x0; });
    joined.line.y0 = widest.y0;
    joined.line.y1 = widest.y1;
    joined.line.text = std::move(text);
    ordered_.push_back(std::move(joined));
  }

  Stretch known_, found_;
  std::vector<OrderedLine> ordered_;
  int columns_ = 0;
};

bool is_digit_of_list(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_list_mark(std::string_view word) {
  constexpr std::string_view kMarks[] = {"•", "‣", "◦", "▪", "■", "●", "○", "–", "—",
                                         "-", "*", "·", "",  "➢", "✓", "□", "▶", "o"};
  if (std::ranges::find(kMarks, word) != std::end(kMarks)) return true;
  std::string_view inside = word;
  const bool opened = inside.starts_with('(') || inside.starts_with('[');
  if (opened) inside.remove_prefix(1);
  if (!inside.ends_with('.') && !inside.ends_with(')') && !inside.ends_with(']')) return false;
  inside.remove_suffix(1);
  if (inside.empty() || inside.size() > 8) return false;
  if (std::ranges::all_of(inside, [](char c) { return is_digit_of_list(c) || c == '.'; })) {
    return is_digit_of_list(inside.front());
  }
  const bool roman = std::ranges::all_of(inside, [](char c) {
    return std::string_view("ivxlcIVXLC").find(c) != std::string_view::npos;
  });
  const bool letter = inside.size() == 1 && ((inside[0] >= 'a' && inside[0] <= 'z') ||
                                             (inside[0] >= 'A' && inside[0] <= 'Z'));
  return letter || (roman && (opened || word.ends_with(')') || inside.size() > 1));
}

std::vector<OrderedLine> in_reading_order(const PdfPage& page, Gutter& gutter) {
  if (page.lines.size() <= kMostLines) {
    PageReader reader(gutter);
    std::vector<OrderedLine> ordered = reader.read(page);
    if (reader.gutter().end > reader.gutter().begin) gutter = reader.gutter();
    return ordered;
  }
  std::vector<OrderedLine> ordered;
  for (const PageLine& line : page.lines) ordered.push_back({line, 0, false});
  return ordered;
}

}  // namespace longhaul
