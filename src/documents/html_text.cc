#include "documents/html_text.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "documents/clean_text.h"
#include "documents/html_entities.h"

namespace longhaul {
namespace {

bool is_html_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

struct HtmlTag {
  std::string name;             ///< in lower case; empty for comments and declarations
  std::string_view attributes;  ///< unparsed
  bool closes = false;
  size_t end = 0;  ///< position after it
};

/// The tag, comment or declaration at a '<' at position `at`; none if it is text.
std::optional<HtmlTag> tag_at(std::string_view html, size_t at) {
  HtmlTag tag;
  const std::string_view rest = html.substr(at);
  const auto until = [&](std::string_view end) {
    const size_t found = html.find(end, at);
    tag.end = found == std::string_view::npos ? html.size() : found + end.size();
  };
  if (rest.starts_with("<!--")) {
    until("-->");
    return tag;
  }
  if (rest.starts_with("<![CDATA[")) {
    until("]]>");
    return tag;
  }
  if (rest.starts_with("<!") || rest.starts_with("<?")) {
    until(">");
    return tag;
  }
  size_t i = 1;
  tag.closes = rest.size() > 1 && rest[1] == '/';
  if (tag.closes) ++i;
  if (i >= rest.size() || std::isalpha(static_cast<unsigned char>(rest[i])) == 0)
    return std::nullopt;
  const size_t name = i;
  while (i < rest.size() && !is_html_blank(rest[i]) && rest[i] != '>' && rest[i] != '/') ++i;
  constexpr size_t kLongestName = 64;
  tag.name = in_lower_case(rest.substr(name, std::min(i - name, kLongestName)));
  const size_t attributes = i;
  char quote = 0;
  for (char before = ' '; i < rest.size(); ++i) {
    const char c = rest[i];
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
    } else if (c == '>') {
      break;
    } else if ((c == '"' || c == '\'') && before == '=') {
      quote = c;
    }
    if (!is_html_blank(c)) before = c;
  }
  if (i == rest.size() && quote != 0) {  // a quote without an end
    i = std::min(rest.find('>', attributes), rest.size());
  }
  tag.attributes = rest.substr(attributes, i - attributes);
  tag.end = at + std::min(i + 1, rest.size());
  return tag;
}

/// The value of an attribute; none if it is missing. A bare attribute has an empty value.
std::optional<std::string_view> attribute_of(const HtmlTag& tag, std::string_view name) {
  std::string_view rest = tag.attributes;
  while (!rest.empty()) {
    while (!rest.empty() && (is_html_blank(rest.front()) || rest.front() == '/'))
      rest.remove_prefix(1);
    size_t end = 0;
    while (end < rest.size() && !is_html_blank(rest[end]) && rest[end] != '=') ++end;
    const std::string key = in_lower_case(rest.substr(0, std::min<size_t>(end, 32)));
    rest.remove_prefix(end);
    while (!rest.empty() && is_html_blank(rest.front())) rest.remove_prefix(1);
    std::string_view value;
    if (rest.starts_with('=')) {
      rest.remove_prefix(1);
      while (!rest.empty() && is_html_blank(rest.front())) rest.remove_prefix(1);
      if (rest.starts_with('"') || rest.starts_with('\'')) {
        const size_t close = std::min(rest.find(rest.front(), 1), rest.size());
        value = rest.substr(1, close - 1);
        rest.remove_prefix(std::min(close + 1, rest.size()));
      } else {
        size_t stop = 0;
        while (stop < rest.size() && !is_html_blank(rest[stop])) ++stop;
        value = rest.substr(0, stop);
        rest.remove_prefix(stop);
      }
    }
    if (!key.empty() && key == name) return value;
  }
  return std::nullopt;
}

bool is_hidden(const HtmlTag& tag) {
  if (attribute_of(tag, "hidden")) return true;
  const auto style = attribute_of(tag, "style");
  if (!style) return false;
  std::string plain = in_lower_case(*style);
  std::erase_if(plain, is_html_blank);
  return plain.find("display:none") != std::string::npos;
}

/// Text with its character references decoded.
std::string decoded_html(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    constexpr size_t kLongest = 32;
    if (text[i] == '&') {
      size_t end = i + 1;
      while (end < text.size() && end - i < kLongest &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '#')) {
        ++end;
      }
      if (const uint32_t c = html_character(text.substr(i + 1, end - i - 1)); c != 0) {
        append_utf8(c, plain);
        i = end + (end < text.size() && text[end] == ';' ? 1 : 0);
        continue;
      }
    }
    plain += text[i++];
  }
  return plain;
}

bool is_void_element(std::string_view name) {
  return is_one_of(name, {"area", "base", "br", "col", "embed", "hr", "img", "input", "link",
                          "meta", "param", "source", "track", "wbr"});
}

bool holds_no_text(std::string_view name) {
  return is_one_of(name, {"script", "style", "template", "svg", "noscript", "title", "iframe",
                          "canvas", "audio", "video", "object", "select", "textarea", "datalist"});
}

/// Elements whose content is not markup.
bool holds_raw_text(std::string_view name) {
  return is_one_of(name, {"script", "style", "title", "textarea", "iframe", "noscript"});
}

bool is_heading(std::string_view name) {
  return name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6';
}

bool is_paragraph_element(std::string_view name) {
  return is_heading(name) ||
         is_one_of(name,
                   {"p",       "blockquote", "pre",     "table",   "dl",    "figure", "section",
                    "article", "header",     "footer",  "main",    "aside", "nav",    "hr",
                    "form",    "fieldset",   "address", "details", "body",  "center"});
}

bool is_line_element(std::string_view name) {
  return is_one_of(name, {"div", "tr", "dt", "dd", "br", "caption", "figcaption", "summary",
                          "legend", "thead", "tbody", "tfoot", "option", "label"});
}

class HtmlReader {
 public:
  explicit HtmlReader(std::string_view html) : html_(html) { find_layout_tables(); }

  HeadedText read() {
    for (size_t at = 0; at < html_.size();) {
      const size_t open = std::min(html_.find('<', at), html_.size());
      text(html_.substr(at, open - at));
      at = open;
      if (at == html_.size()) break;
      const std::optional<HtmlTag> tag = tag_at(html_, at);
      if (!tag) {
        text("<");
        ++at;
        continue;
      }
      at = tag->end;
      if (tag->name.empty()) continue;
      if (tag->closes) {
        close(*tag);
      } else {
        at = open_element(*tag);
      }
    }
    while (!result_.text.empty() && is_html_blank(result_.text.back())) result_.text.pop_back();
    if (!result_.text.empty()) result_.text += '\n';
    return std::move(result_);
  }

 private:
  enum class Gap { kNone, kSpace, kLine, kParagraph };
  struct List {
    bool numbered = false;
    int64_t next = 1;
    int64_t items = 0;
  };
  struct Table {
    bool layout = false;  ///< cells hold parts of the page
    bool first_cell = true;
    bool in_cell = false;
  };

  /// Tables that contain headings, lists or other tables arrange a page. Their cells are not joined
  /// to rows.
  void find_layout_tables() {
    std::vector<size_t> open;
    for (size_t at = html_.find('<'); at != std::string_view::npos; at = html_.find('<', at)) {
      const std::optional<HtmlTag> tag = tag_at(html_, at);
      at = tag ? tag->end : at + 1;
      if (!tag) continue;
      if (tag->name == "table" && !tag->closes) {
        if (!open.empty()) layout_[open.back()] = true;
        open.push_back(layout_.size());
        const auto role = attribute_of(*tag, "role");
        layout_.push_back(role && *role == "presentation");
      } else if (tag->name == "table") {
        if (!open.empty()) open.pop_back();
      } else if (!open.empty() && (is_heading(tag->name) || tag->name == "form")) {
        layout_[open.back()] = true;
      }
    }
  }

  Table* cell_table() {
    return !tables_.empty() && !tables_.back().layout && tables_.back().in_cell ? &tables_.back()
                                                                                : nullptr;
  }

  void gap(Gap more) {
    if (cell_table() != nullptr) more = std::min(more, Gap::kSpace);
    if (!prefix_.empty() && more > Gap::kSpace) return;  // an item begins
    gap_ = std::max(gap_, more);
  }

  void write_gap() {
    std::string& text = result_.text;
    if (!text.empty()) {
      if (gap_ >= Gap::kLine) {
        while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
        if (!text.ends_with('\n')) text += '\n';
        if (gap_ == Gap::kParagraph && !text.ends_with("\n\n")) text += '\n';
      } else if (gap_ == Gap::kSpace && !is_html_blank(text.back())) {
        text += ' ';
      }
    }
    gap_ = Gap::kNone;
    text += prefix_;
    prefix_.clear();
    if (heading_ && !heading_begun_) {
      heading_->offset = text.size();
      heading_begun_ = true;
    }
  }

  void text(std::string_view raw) {
    if (raw.empty()) return;
    const std::string plain = clean_converted(decoded_html(raw));
    if (in_pre_ > 0 && cell_table() == nullptr) {
      if (plain.empty()) return;
      write_gap();
      result_.text += plain;
      return;
    }
    for (size_t i = 0; i < plain.size();) {
      if (is_html_blank(plain[i])) {
        gap(Gap::kSpace);
        ++i;
        continue;
      }
      const auto word =
          std::find_if(plain.begin() + static_cast<std::ptrdiff_t>(i), plain.end(), is_html_blank);
      const auto length = static_cast<size_t>(word - plain.begin()) - i;
      write_gap();
      result_.text.append(plain, i, length);
      i += length;
    }
  }

  /// Returns the position at which reading continues.
  size_t open_element(const HtmlTag& tag) {
    const std::string& name = tag.name;
    const bool closed_itself = tag.attributes.ends_with('/');
    if (holds_raw_text(name))
      return closed_itself && name != "script" ? tag.end : behind_raw_text(tag);
    if (!is_void_element(name) && !closed_itself &&
        (holds_no_text(name) || is_hidden(tag) || is_back_link(tag))) {
      if (is_paragraph_element(name) || is_line_element(name)) gap(Gap::kLine);
      return behind_element(tag);
    }
    if (name == "ul" || name == "ol") {
      gap(lists_.empty() ? Gap::kParagraph : Gap::kLine);
      if (!lists_.empty()) gap_ = std::min(gap_, Gap::kLine);
      List list;
      list.numbered = name == "ol";
      if (const auto start = attribute_of(tag, "start"))
        list.next = std::atoi(std::string(*start).c_str());
      lists_.push_back(list);
    } else if (name == "li") {
      begin_item();
    } else if (name == "table") {
      gap(Gap::kParagraph);
      tables_.push_back({table_count_ < layout_.size() && layout_[table_count_], true, false});
      ++table_count_;
    } else if (name == "tr" && !tables_.empty()) {
      begin_row();
    } else if ((name == "td" || name == "th") && !tables_.empty()) {
      begin_cell();
    } else if (name == "img") {
      if (const auto alt = attribute_of(tag, "alt"); alt && !alt->empty()) text(*alt);
    } else if (name == "sup") {
      in_reference_ = anchors_ > 0;
      text(in_reference_ ? "[" : "^");
    } else if (name == "a") {
      ++anchors_;
    } else if (is_paragraph_element(name)) {
      gap(Gap::kParagraph);
      if (is_heading(name)) {
        heading_ = Heading();
        heading_begun_ = false;
      }
      in_pre_ += name == "pre" ? 1 : 0;
    } else if (is_line_element(name)) {
      // Two <br> separate paragraphs.
      gap(name == "br" && gap_ == Gap::kLine ? Gap::kParagraph : Gap::kLine);
    }
    return tag.end;
  }

  void close(const HtmlTag& tag) {
    const std::string& name = tag.name;
    if (name == "ul" || name == "ol") {
      if (!lists_.empty()) lists_.pop_back();
      prefix_.clear();
      gap(lists_.empty() ? Gap::kParagraph : Gap::kLine);
    } else if (name == "table") {
      if (!tables_.empty()) tables_.pop_back();
      gap(Gap::kParagraph);
    } else if ((name == "td" || name == "th") && !tables_.empty()) {
      tables_.back().in_cell = false;
      if (tables_.back().layout) gap(Gap::kLine);
    } else if (name == "tr" && !tables_.empty()) {
      tables_.back().in_cell = false;
      gap(Gap::kLine);
    } else if (name == "li") {
      prefix_.clear();
      gap(Gap::kLine);
    } else if (name == "sup") {
      if (in_reference_) text("]");
      in_reference_ = false;
    } else if (name == "a") {
      anchors_ = std::max(0, anchors_ - 1);
    } else if (is_paragraph_element(name)) {
      if (is_heading(name)) end_heading();
      in_pre_ = std::max(0, in_pre_ - (name == "pre" ? 1 : 0));
      gap(Gap::kParagraph);
    } else if (is_line_element(name) && name != "br") {
      gap(Gap::kLine);
    }
  }

  void end_heading() {
    if (heading_ && heading_begun_) {
      heading_->text = result_.text.substr(heading_->offset);
      std::ranges::replace(heading_->text, '\n', ' ');
      result_.headings.push_back(*heading_);
    }
    heading_.reset();
  }

  void begin_item() {
    gap(Gap::kLine);
    // Items are lines of their own, without blank lines between them.
    if (!lists_.empty() && lists_.back().items++ > 0) gap_ = std::min(gap_, Gap::kLine);
    constexpr size_t kDeepest = 8;
    const size_t depth = lists_.empty() ? 0 : std::min(lists_.size() - 1, kDeepest);
    prefix_ = std::string(2 * depth, ' ');
    if (!lists_.empty() && lists_.back().numbered) {
      prefix_ += std::to_string(lists_.back().next++) + ". ";
    } else {
      prefix_ += "- ";
    }
  }

  void begin_row() {
    tables_.back().in_cell = false;
    tables_.back().first_cell = true;
    gap(Gap::kLine);
  }

  void begin_cell() {
    Table& table = tables_.back();
    table.in_cell = false;
    if (table.layout) {
      gap(Gap::kLine);
    } else {
      if (!table.first_cell) {
        write_gap();
        while (result_.text.ends_with(' ')) result_.text.pop_back();
        result_.text += " | ";
      }
      table.in_cell = true;
    }
    table.first_cell = false;
  }

  /// Links after footnotes that lead back to the text.
  static bool is_back_link(const HtmlTag& tag) {
    const auto kind = attribute_of(tag, "class");
    return tag.name == "a" && kind && kind->find("footnote-back") != std::string_view::npos;
  }

  /// The position after the end of an element whose content is not markup.
  size_t behind_raw_text(const HtmlTag& tag) {
    for (size_t at = html_.find("</", tag.end); at != std::string_view::npos;
         at = html_.find("</", at + 2)) {
      if (in_lower_case(html_.substr(at + 2, tag.name.size())) != tag.name) continue;
      return std::min(html_.find('>', at), html_.size() - 1) + 1;
    }
    return html_.size();
  }

  /// The position after the end of an element, which may contain elements of the same name. An
  /// element without an end is read as content.
  size_t behind_element(const HtmlTag& tag) {
    constexpr size_t kMostUnclosed = 8;  // each needs a search to the end of the page
    if (unclosed_.size() >= kMostUnclosed ||
        std::ranges::find(unclosed_, tag.name) != unclosed_.end()) {
      return tag.end;
    }
    size_t open = 1;
    for (size_t at = html_.find('<', tag.end); at != std::string_view::npos;
         at = html_.find('<', at)) {
      const std::optional<HtmlTag> next = tag_at(html_, at);
      at = next ? next->end : at + 1;
      if (!next || next->name != tag.name) continue;
      if (!next->closes) {
        ++open;
      } else if (--open == 0) {
        return next->end;
      }
    }
    unclosed_.push_back(tag.name);
    return tag.end;
  }

  std::string_view html_;
  HeadedText result_;
  Gap gap_ = Gap::kNone;  ///< before the next word
  std::string prefix_;    ///< mark of an item, before the next word
  std::vector<List> lists_;
  std::vector<Table> tables_;
  std::vector<bool> layout_;  ///< by table, in the order of the page
  size_t table_count_ = 0;
  std::optional<Heading> heading_;
  bool heading_begun_ = false;
  bool in_reference_ = false;  ///< inside a linked number, which refers to a footnote
  int in_pre_ = 0, anchors_ = 0;
  std::vector<std::string> unclosed_;  ///< names of elements that should be skipped and have no end
};

}  // namespace

HeadedText text_of_html(std::string_view html) { return HtmlReader(html).read(); }

}  // namespace longhaul
