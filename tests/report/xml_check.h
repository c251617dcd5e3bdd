#pragma once
// A strict and small check that XML is well-formed. Elements nest, attributes are quoted and
// unique, only the five entities and numeric ones occur, and texts have no raw '<' or '&'.

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::testing_support {

class XmlCheck {
 public:
  /// Returns "" if `text` is well-formed, else the error and its place.
  static std::string problem(std::string_view text) {
    XmlCheck check(text);
    check.document();
    return check.problem_;
  }

 private:
  explicit XmlCheck(std::string_view text) : text_(text) {}

  bool at(std::string_view s) const { return text_.substr(i_).starts_with(s); }
  bool done() const { return i_ >= text_.size() || !problem_.empty(); }
  void fail(const std::string& what) {
    if (problem_.empty()) {
      problem_ = what + " at byte " + std::to_string(i_) + ": " + std::string(text_.substr(i_, 60));
    }
  }
  static bool name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == ':';
  }
  std::string name() {
    std::string n;
    while (i_ < text_.size() && name_char(text_[i_])) n += text_[i_++];
    if (n.empty()) fail("a name is missing");
    return n;
  }
  void space() {
    while (i_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[i_]))) ++i_;
  }
  void entity() {
    const size_t end = text_.find(';', i_);
    const std::string_view e = end == text_.npos ? "" : text_.substr(i_, end - i_ + 1);
    static const std::set<std::string_view> known{"&amp;",  "&lt;",   "&gt;",
                                                  "&quot;", "&apos;", "&#39;"};
    if (!known.contains(e)) return fail("unknown entity");
    i_ = end + 1;
  }
  void character() {
    const auto c = static_cast<unsigned char>(text_[i_]);
    if (c == '&') return entity();
    if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') return fail("control character");
    ++i_;
  }
  void tag() {
    if (at("</")) {
      i_ += 2;
      const std::string n = name();
      space();
      if (!at(">")) return fail("'>' is missing");
      ++i_;
      if (open_.empty() || open_.back() != n) return fail("</" + n + "> closes nothing");
      open_.pop_back();
      return;
    }
    ++i_;
    const std::string n = name();
    if (open_.empty() && roots_++ > 0) return fail("second root");
    std::set<std::string> seen;
    for (;;) {
      const size_t before = i_;
      space();
      if (done() || at(">") || at("/>")) break;
      if (i_ == before) return fail("no space before an attribute");
      const std::string key = name();
      if (!problem_.empty()) return;
      if (!seen.insert(key).second) return fail("attribute twice");
      if (!at("=\"")) return fail("attribute without a quoted value");
      i_ += 2;
      while (!done() && text_[i_] != '"') {
        if (text_[i_] == '<') return fail("'<' in an attribute");
        character();
      }
      ++i_;
    }
    if (at("/>")) {
      i_ += 2;
    } else if (at(">")) {
      ++i_;
      open_.push_back(n);
    } else {
      fail("tag does not end");
    }
  }
  void document() {
    if (at("<!DOCTYPE html>\n")) i_ += 16;
    while (!done()) {
      if (text_[i_] == '<') {
        tag();
      } else {
        if (open_.empty() && !std::isspace(static_cast<unsigned char>(text_[i_])))
          fail("text outside");
        character();
      }
    }
    if (problem_.empty() && (!open_.empty() || roots_ != 1)) fail("does not end");
  }

  std::string_view text_;
  size_t i_ = 0;
  int roots_ = 0;
  std::vector<std::string> open_;
  std::string problem_;
};

}  // namespace longhaul::testing_support
