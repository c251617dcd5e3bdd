#pragma once
// What can be told of a Jinja text without running it: marks, literals, assignments.

#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

class TemplateText {
 public:
  explicit TemplateText(std::string_view jinja);

  /// In any of these words line breaks are meant, whether the template has them plainly or escaped.
  template <class... Marks>
  bool any(Marks... marks) const {
    return ((text_.find(marks) != std::string::npos) || ...);
  }

  /// The text that stands between two marks wherever that is a literal: "" where it is always
  /// computed, none where a literal is mixed with computed parts.
  std::optional<std::string> literal_between(std::string_view before, std::string_view after) const;

  /// The first text other than "" that is assigned (`set NAME = "TEXT"`) to a name that has `part`
  /// in it: "" where there is none, none where it has escapes that are not known here.
  std::optional<std::string> assigned_text(std::string_view part) const;

  /// Whether the value of `name` is written ({{ name }}) without `before` somewhere before it.
  bool writes_bare(std::string_view name, std::string_view before) const;

  /// Whether a line break is written right behind `mark`.
  bool breaks_line_after(std::string_view mark) const;

 private:
  std::string jinja_;  ///< as it is
  std::string text_;   ///< with line breaks as such: literals write them as a backslash and n
};

}  // namespace longhaul
