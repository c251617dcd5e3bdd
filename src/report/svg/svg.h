#pragma once
// Writes an SVG picture. Shapes get their colours from classes (chart_style.h), so that one file is
// suitable for light and dark pages. All texts are escaped here.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace longhaul {

struct Point {
  double x = 0, y = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

class Svg {
 public:
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string>>;

  /// `label` describes the picture for screen readers. Units are approximately CSS pixels.
  Svg(double width, double height, std::string_view label);

  /// Functions that draw shapes. `classes` refers to the styles of chart_style.h. `tooltip` is
  /// shown under the pointer and may be empty.
  void line(Point from, Point to, std::string_view classes);
  void rect(Point corner, double width, double height, std::string_view classes,
            Attributes attributes = {}, std::string_view tooltip = "");
  void path(std::string_view commands, std::string_view classes, Attributes attributes = {},
            std::string_view tooltip = "");
  void text(Point at, std::string_view text, std::string_view classes,
            Anchor anchor = Anchor::kStart, Attributes attributes = {});

  double width() const { return width_; }
  double height() const { return height_; }
  /// Returns the picture as an element for an HTML page that includes chart_css().
  std::string element() const;
  /// Returns the picture as a separate file with namespace, style and background.
  std::string file() const;

  /// Returns the approximate width of a text in the units of the picture.
  static double text_width(std::string_view text, double font_size);

 private:
  std::string head(std::string_view attributes) const;
  void shape(std::string_view tag, std::string_view geometry, std::string_view classes,
             Attributes attributes, std::string_view tooltip);

  double width_, height_;
  std::string label_;
  std::string body_;
};

/// Formats a number without trailing zeros: "12.5".
std::string svg_number(double value);

}  // namespace longhaul
