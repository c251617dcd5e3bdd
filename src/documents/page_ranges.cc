#include "documents/page_ranges.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/units.h"
#include "documents/pages_beyond.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr int64_t kLastPage = std::numeric_limits<int32_t>::max();

int64_t page_number(std::string_view text, int64_t otherwise) {
  if (text.empty()) return otherwise;
  int64_t page = 0;
  return parse_number(text, page) ? page : 0;
}

bool is_zero(std::string_view text) {
  int64_t page = 0;
  return parse_number(text, page) && page == 0;
}

/// The number in a line "[page N]" at the beginning of `text`; 0 if there is none.
int64_t page_mark(std::string_view text) {
  constexpr std::string_view kMark = "[page ";
  if (!text.starts_with(kMark)) return 0;
  int64_t page = 0;
  const char* begin = text.data() + kMark.size();
  const char* text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(begin, text_end, page);
  const bool closed = end != text_end && *end == ']' && (end + 1 == text_end || end[1] == '\n');
  return error == std::errc() && closed ? page : 0;
}

}  // namespace

PageRanges PageRanges::parse(std::string_view text) {
  PageRanges pages;
  pages.text_ = std::string(text);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t dash = std::min(part.find('-'), part.size());
    Range range;
    range.first = page_number(part.substr(0, dash), dash < part.size() ? 1 : 0);
    range.last = dash < part.size() ? page_number(part.substr(dash + 1), kLastPage) : range.first;
    const bool numbers = range.first >= 1 && range.last >= 1 && range.last <= kLastPage;
    if (numbers && range.last < range.first) {
      user_error("--pages {}: {} goes backwards; {}-{} goes forwards", printable(pages.text_),
                 printable(part), range.last, range.first);
    }
    if (is_zero(part.substr(0, dash)) || (dash < part.size() && is_zero(part.substr(dash + 1)))) {
      user_error("--pages {}: pages begin at 1", printable(pages.text_));
    }
    if (part == "-" || !numbers) {
      user_error("--pages {}: give numbers of pages, as in 5-10 or 1,4-6,12-",
                 printable(pages.text_));
    }
    pages.ranges_.push_back(range);
  }
  return pages;
}

bool PageRanges::contains(int64_t page) const {
  return all() || std::ranges::any_of(ranges_, [page](const Range& range) {
           return page >= range.first && page <= range.last;
         });
}

std::string pages_in_words(const std::vector<int64_t>& pages) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < pages.size();) {
    size_t end = i + 1;
    while (end < pages.size() && pages[end] == pages[end - 1] + 1) ++end;
    if (end - i > 2) {
      parts.push_back(fmt::format("{}-{}", pages[i], pages[end - 1]));
    } else {
      for (size_t j = i; j < end; ++j) parts.push_back(std::to_string(pages[j]));
    }
    i = end;
  }
  constexpr size_t kMostParts = 20;
  std::string text = pages.size() == 1 ? "page " : "pages ";
  for (size_t i = 0; i < std::min(parts.size(), kMostParts); ++i) {
    const bool last = i + 1 == parts.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + parts[i];
  }
  if (parts.size() > kMostParts) text += " and others";
  return text;
}

std::string select_pages(const std::string& text, const PageRanges& chosen,
                         const std::string& name) {
  std::string selected;
  int64_t page = 0, count = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t newline = rest.find('\n');
    const std::string_view line =
        newline == std::string_view::npos ? rest : rest.substr(0, newline + 1);
    rest.remove_prefix(line.size());
    if (const int64_t mark = page_mark(line); mark > 0) {
      page = mark;
      count = std::max(count, page);
    }
    if (page > 0 && chosen.contains(page)) selected += line;
  }
  if (count == 0) user_error("--pages {}: {} has no pages", chosen.text(), name);
  if (selected.empty()) {
    user_error("--pages {}: {} has no such page with text; the last one is {}", chosen.text(), name,
               with_commas(count));
  }
  warn_pages_beyond(chosen, count, name);
  return selected;
}

}  // namespace longhaul
