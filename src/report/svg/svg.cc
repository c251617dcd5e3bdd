#include "report/svg/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "report/svg/chart_style.h"
#include "report/text.h"

namespace longhaul {

std::string svg_number(double value) {
  LH_ASSERT(std::isfinite(value));
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

Svg::Svg(double width, double height, std::string_view label)
    : width_(width), height_(height), label_(label) {}

void Svg::shape(std::string_view tag, std::string_view geometry, std::string_view classes,
                Attributes attributes, std::string_view tooltip) {
  body_ += fmt::format("<{} {}", tag, geometry);
  if (!classes.empty()) body_ += fmt::format(" class=\"{}\"", escape_xml(classes));
  for (const auto& [name, value] : attributes) {
    body_ += fmt::format(" {}=\"{}\"", name, escape_xml(value));
  }
  if (tooltip.empty()) {
    body_ += "/>\n";
  } else {
    body_ += fmt::format("><title>{}</title></{}>\n", escape_xml(tooltip), tag);
  }
}

void Svg::line(Point from, Point to, std::string_view classes) {
  shape("line",
        fmt::format("x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", svg_number(from.x),
                    svg_number(from.y), svg_number(to.x), svg_number(to.y)),
        classes, {}, "");
}

void Svg::rect(Point corner, double width, double height, std::string_view classes,
               Attributes attributes, std::string_view tooltip) {
  shape("rect",
        fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", svg_number(corner.x),
                    svg_number(corner.y), svg_number(width), svg_number(height)),
        classes, attributes, tooltip);
}

void Svg::path(std::string_view commands, std::string_view classes, Attributes attributes,
               std::string_view tooltip) {
  shape("path", fmt::format("d=\"{}\"", escape_xml(commands)), classes, attributes, tooltip);
}

void Svg::text(Point at, std::string_view text, std::string_view classes, Anchor anchor,
               Attributes attributes) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\"", svg_number(at.x), svg_number(at.y),
                       escape_xml(classes));
  if (anchor != Anchor::kStart) {
    body_ += fmt::format(" text-anchor=\"{}\"", kAnchors[static_cast<int>(anchor)]);
  }
  for (const auto& [name, value] : attributes) {
    body_ += fmt::format(" {}=\"{}\"", name, escape_xml(value));
  }
  body_ += fmt::format(">{}</text>\n", escape_xml(text));
}

std::string Svg::head(std::string_view attributes) const {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" class=\"chart\" role=\"img\" aria-label=\"{}\"{}>\n",
      svg_number(width_), svg_number(height_), escape_xml(label_), attributes);
}

std::string Svg::element() const { return head("") + body_ + "</svg>\n"; }

std::string Svg::file() const {
  const std::string size =
      fmt::format(" xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\"",
                  svg_number(width_), svg_number(height_));
  return head(size) + "<style>\n" + std::string(chart_css()) +
         "</style>\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n" + body_ + "</svg>\n";
}

double Svg::text_width(std::string_view text, double font_size) {
  double characters = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;
    const bool narrow = std::string_view("ijl.,:;|'!()[] tfr1").find(c) != std::string_view::npos;
    characters += narrow ? 0.4 : 0.64;  // widths of wide faces, such as DejaVu Sans
  }
  return characters * font_size;
}

}  // namespace longhaul
