#pragma once
// Writes an SVG picture. Shapes get their colours from CSS classes (chart_style.h), so that the
// same picture fits light and dark pages. The functions escape special characters in all texts.

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

  /// The following functions draw shapes. `classes` are CSS classes (chart_style.h). `tooltip` is
  /// shown when the pointer is on the shape; it may be empty.
  void line(Point from, Point to, std::string_view classes);
  void rect(Point corner, double width, double height, std::string_view classes,
            Attributes attributes = {}, std::string_view tooltip = "");
  void path(std::string_view commands, std::string_view classes, Attributes attributes = {},
            std::string_view tooltip = "");
  void text(Point at, std::string_view text, std::string_view classes,
            Anchor anchor = Anchor::kStart, Attributes attributes = {});

  double width() const { return width_; }
  double height() const { return height_; }
  /// Returns the picture as an element of an HTML page. The page must contain chart_css().
  std::string element() const;
  /// Returns the picture as the contents of an SVG file, with its own styles and background.
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
