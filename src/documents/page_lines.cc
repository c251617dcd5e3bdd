#include "documents/page_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "documents/clean_text.h"
#include "text/utf8.h"

namespace longhaul {
namespace {

/// The value of attribute `name` in a tag; 0 if it is missing or not a number.
double number_in_tag(std::string_view tag, std::string_view name) {
  const size_t at = tag.find(name);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = tag.substr(at + name.size());
  if (!rest.starts_with("=\"")) return 0;
  rest.remove_prefix(2);
  double value = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
  constexpr double kFarthest = 1e6;  // points; larger values and NaN are not on a page
  return value > -kFarthest && value < kFarthest ? value : 0;
}

struct XmlEntity {
  std::string_view name, text;
};
constexpr XmlEntity kXmlEntities[] = {
    {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};

std::string without_xml_entities(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto* entity = std::ranges::find_if(
        kXmlEntities, [&](const XmlEntity& e) { return text.starts_with(e.name); });
    if (entity != std::end(kXmlEntities)) {
      plain += entity->text;
      text.remove_prefix(entity->name.size());
    } else {
      plain += text.front();
      text.remove_prefix(1);
    }
  }
  return plain;
}

struct BoxedWord {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  std::string text;
};

BoxedWord boxed_word(std::string_view tag, std::string_view text) {
  return {number_in_tag(tag, "xMin"), number_in_tag(tag, "xMax"), number_in_tag(tag, "yMin"),
          number_in_tag(tag, "yMax"), without_xml_entities(text)};
}

double middle_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

/// Ligatures and dashes of TeX's fonts, which appear as control characters if a PDF does not define
/// them (encodings T1 and OT1).
std::string with_tex_ligatures(std::string_view text) {
  constexpr std::string_view kT1[] = {"ff", "fi", "fl", "ffi", "ffl"};  // from 0x1b on
  std::string plain;
  for (const char c : text) {
    if (c >= 0x1b && c <= 0x1f) {
      plain += kT1[c - 0x1b];
    } else if (c >= 0x0b && c <= 0x0f) {
      plain += kT1[c - 0x0b];
    } else if (c == 0x15 || c == 0x16) {
      plain += c == 0x15 ? "\u2013" : "\u2014";
    } else {
      plain += c;
    }
  }
  return plain;
}

void set_text(std::string_view text, PageLine& line) {
  line.soft_hyphen = text.ends_with("\xc2\xad");
  line.text = clean_converted(text);
}

void add_part(std::span<const BoxedWord> words, PdfPage& page) {
  constexpr double kSpace = 0.1;  // heights; narrower gaps are changes of font within a word
  PageLine line;
  std::vector<double> tops, bottoms;
  line.x0 = words.front().x0;
  line.x1 = words.front().x1;
  double before = words.front().x1;
  std::string visual;
  for (const BoxedWord& word : words) {
    line.x0 = std::min(line.x0, word.x0);
    line.x1 = std::max(line.x1, word.x1);
    tops.push_back(word.y0);
    bottoms.push_back(word.y1);
    // Words of vertical text are above each other.
    const bool above = std::abs(word.y0 - words.front().y0) > word.y1 - word.y0;
    const bool apart = above || word.x0 - before > kSpace * (word.y1 - word.y0);
    if (!visual.empty() && apart) visual += ' ';
    line.widest_space = std::max(line.widest_space, word.x0 - before);
    visual += with_tex_ligatures(word.text);
    before = word.x1;
  }
  // One large letter does not move the line.
  line.y0 = middle_of(tops);
  line.y1 = std::max(middle_of(bottoms), line.y0);
  const bool leftwards = reads_leftwards(visual);
  const BoxedWord& first = leftwards ? words.back() : words.front();
  line.first_word = first.x1 - first.x0;
  set_text(logical_order(visual), line);
  if (line.text.find_first_not_of(" \t") != std::string::npos) page.lines.push_back(line);
}

double wide_gap(double height) {
  constexpr double kOfHeight = 0.55;
  return std::max(kWideGap, kOfHeight * height);
}

/// The program may join lines of two columns, so wide gaps end a part.
void add_line(std::span<const BoxedWord> words, PdfPage& page) {
  for (size_t begin = 0; begin < words.size();) {
    size_t end = begin + 1;
    while (end < words.size() &&
           words[end].x0 - words[end - 1].x1 < wide_gap(words[end].y1 - words[end].y0)) {
      ++end;
    }
    add_part(words.subspan(begin, end - begin), page);
    begin = end;
  }
}

enum class Direction { kNeutral, kLeftwards, kRightwards };

Direction direction_of(uint32_t c) {
  const bool leftwards = (c >= 0x590 && c <= 0x8ff) || (c >= 0xfb1d && c <= 0xfdff) ||
                         (c >= 0xfe70 && c <= 0xfeff) || (c >= 0x10800 && c <= 0x10fff) ||
                         (c >= 0x1e800 && c <= 0x1efff);
  const bool arabic_digit = (c >= 0x660 && c <= 0x669) || (c >= 0x6f0 && c <= 0x6f9);
  if (leftwards && !arabic_digit) return Direction::kLeftwards;
  const bool ascii_word =
      (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  const bool other_letter = c >= 0xc0 && !(c >= 0x2000 && c <= 0x2bff) &&
                            !(c >= 0x3000 && c <= 0x303f) && c != 0xd7 && c != 0xf7;
  return ascii_word || arabic_digit || other_letter ? Direction::kRightwards : Direction::kNeutral;
}

bool is_combining(uint32_t c) {
  return (c >= 0x591 && c <= 0x5c7 && c != 0x5be && c != 0x5c0 && c != 0x5c3 && c != 0x5c6) ||
         (c >= 0x64b && c <= 0x65f) || c == 0x670 || (c >= 0x300 && c <= 0x36f);
}

uint32_t mirrored(uint32_t c) {
  constexpr std::u32string_view kPairs = U"()[]{}<>\u00ab\u00bb";
  const size_t at = kPairs.find(static_cast<char32_t>(c));
  return at == std::u32string_view::npos ? c : kPairs[at ^ 1];
}

std::vector<uint32_t> code_points_of(std::string_view text) {
  std::vector<uint32_t> points;
  while (!text.empty()) {
    const Utf8Sequence next = read_utf8(text);
    points.push_back(next.status == Utf8Status::complete ? next.code_point : 0xfffd);
    text.remove_prefix(next.bytes);
  }
  return points;
}

/// Reverses the characters in [begin, end); combining marks stay after their letters.
void reverse_characters(std::vector<uint32_t>& points, size_t begin, size_t end) {
  const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = points.begin() + static_cast<std::ptrdiff_t>(end);
  std::reverse(first, last);
  for (auto at = first; at != last;) {
    auto letter = at;
    while (letter != last && is_combining(*letter)) ++letter;
    if (letter == last) break;
    std::rotate(at, letter, letter + 1);
    at = letter + 1;
  }
}

/// Calls `run(begin, end)` for each longest run that begins and ends with a character of
/// `direction` and contains none of the other direction.
template <class Run>
void for_runs(const std::vector<uint32_t>& points, Direction direction, Run&& run) {
  size_t begin = 0, end = 0;  // empty: no run is open
  for (size_t i = 0; i < points.size(); ++i) {
    const Direction here = direction_of(points[i]);
    if (here == direction) {
      if (begin == end) begin = i;
      end = i + 1;
    } else if (here != Direction::kNeutral) {
      if (begin < end) run(begin, end);
      begin = end = 0;
    }
  }
  if (begin < end) run(begin, end);
}

}  // namespace

bool reads_leftwards(std::string_view text) {
  int64_t balance = 0;
  bool ascii = true;
  for (const char c : text) ascii = ascii && static_cast<unsigned char>(c) < 0x80;
  if (ascii) return false;
  for (const uint32_t c : code_points_of(text)) {
    const Direction direction = direction_of(c);
    const bool digit = c >= '0' && c <= '9';
    if (direction == Direction::kLeftwards) ++balance;
    if (direction == Direction::kRightwards && !digit) --balance;
  }
  return balance > 0;
}

std::string logical_order(std::string_view visual) {
  std::vector<uint32_t> points = code_points_of(visual);
  const auto leftward = [](uint32_t c) { return direction_of(c) == Direction::kLeftwards; };
  if (std::ranges::none_of(points, leftward)) return std::string(visual);
  const auto reverse_mirrored = [&](size_t begin, size_t end) {
    reverse_characters(points, begin, end);
    for (size_t i = begin; i < end; ++i) points[i] = mirrored(points[i]);
  };
  if (reads_leftwards(visual)) {
    reverse_mirrored(0, points.size());
    for_runs(points, Direction::kRightwards, reverse_mirrored);
  } else {
    for_runs(points, Direction::kLeftwards, reverse_mirrored);
  }
  std::string logical;
  for (const uint32_t c : points) append_utf8(c, logical);
  return logical;
}

std::vector<PdfPage> pages_with_boxes(std::string_view xml) {
  std::vector<PdfPage> pages;
  std::vector<BoxedWord> words;
  for (size_t at = xml.find('<'); at != std::string_view::npos; at = xml.find('<', at)) {
    const size_t end = xml.find('>', at);
    if (end == std::string_view::npos) break;
    const std::string_view tag = xml.substr(at, end - at);
    at = end + 1;
    if (tag.starts_with("<page")) {
      pages.emplace_back();
    } else if (tag.starts_with("<line")) {
      words.clear();
    } else if (tag.starts_with("<word")) {
      words.push_back(boxed_word(tag, xml.substr(at, xml.find('<', at) - at)));
    } else if (tag == "</line" && !pages.empty()) {
      add_line(words, pages.back());
      words.clear();
    }
  }
  return pages;
}

std::vector<PdfPage> plain_pages(std::string_view text) {
  constexpr double kWidth = 6, kHeight = 10, kPitch = 12;  // points per letter and line
  std::vector<PdfPage> pages;
  while (!text.empty()) {
    const size_t page_end = std::min(text.find('\f'), text.size());
    std::string_view body = text.substr(0, page_end);
    text.remove_prefix(std::min(page_end + 1, text.size()));
    PdfPage& page = pages.emplace_back();
    for (double y = 0; !body.empty(); y += kPitch) {
      const size_t line_end = std::min(body.find('\n'), body.size());
      std::string_view words = body.substr(0, line_end);
      body.remove_prefix(std::min(line_end + 1, body.size()));
      const size_t begin = words.find_first_not_of(" \t\r");
      if (begin == std::string_view::npos) continue;
      words = words.substr(begin, words.find_last_not_of(" \t\r") + 1 - begin);
      PageLine line;
      line.x0 = kWidth * static_cast<double>(begin);
      line.x1 = line.x0 + kWidth * static_cast<double>(words.size());
      line.y0 = y;
      line.y1 = y + kHeight;
      line.first_word = kWidth * static_cast<double>(std::min(words.find(' '), words.size()));
      set_text(words, line);
      if (!line.text.empty()) page.lines.push_back(std::move(line));
    }
  }
  return pages;
}

}  // namespace longhaul
