#include "report/svg/chart_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace longhaul {
namespace {

constexpr size_t kColours = 8;

}  // namespace

std::string_view chart_css() {
  return R"(:root{color-scheme:light dark;
--paper:#fff;--ink:#1a1f26;--muted:#5a6472;--rule:#d5dbe3;--grid:#e9edf2;--panel:#f5f7fa;
--good:#0067a8;--bad:#d2600a;--mid:#e9ecf0;
--c0:#1a1f26;--c1:#0067a8;--c2:#c04a00;--c3:#007a5a;--c4:#a83f86;--c5:#8a6500;--c6:#1f7f94;--c7:#6a4fc0;--c8:#a3352f}
@media(prefers-color-scheme:dark){:root{
--paper:#11161c;--ink:#e6eaef;--muted:#9ba6b4;--rule:#343e4a;--grid:#222a33;--panel:#181f27;
--good:#4aa8e8;--bad:#f0883e;--mid:#2a333e;
--c0:#e6eaef;--c1:#58b0f0;--c2:#ff9557;--c3:#3ecf9e;--c4:#e58cc6;--c5:#e3b341;--c6:#5fd0e6;--c7:#a99bf5;--c8:#f58a84}}
.chart{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:12.5px}
.chart text{fill:var(--ink)}
.chart .paper{fill:var(--paper)}
.chart .tick{fill:var(--muted);font-size:11.5px}
.chart .name{fill:var(--muted)}
.chart .head{font-weight:600}
.chart .small{font-size:10.5px}
.chart .axis{stroke:var(--muted);stroke-width:1}
.chart .grid{stroke:var(--grid);stroke-width:1}
.chart .lead{stroke:var(--c);stroke-width:.8;opacity:.55}
.chart .curve{stroke:var(--c);stroke-width:2;fill:none;stroke-linejoin:round}
.chart .thin{stroke-width:1.2;opacity:.7}
.chart .mark{fill:var(--c);stroke:var(--paper);stroke-width:1}
.chart text.label{fill:var(--c);stroke:var(--paper);stroke-width:3.5px;stroke-linejoin:round;paint-order:stroke}
.chart .front{stroke:var(--muted);stroke-width:1.5;fill:none;stroke-dasharray:5 3}
.chart .empty{fill:var(--paper);stroke:var(--rule)}
.chart .mid{fill:var(--mid)}
.chart .good{fill:var(--good)}
.chart .bad{fill:var(--bad)}
.chart .cell{stroke:var(--paper);stroke-width:1}
.chart text.strong{fill:#fff}
@media(prefers-color-scheme:dark){.chart text.strong{fill:#0d1116}}
.s0{--c:var(--c0)}.s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}.s4{--c:var(--c4)}
.s5{--c:var(--c5)}.s6{--c:var(--c6)}.s7{--c:var(--c7)}.s8{--c:var(--c8)}
)";
}

std::string series_class(size_t style) {
  return fmt::format("s{}", style == 0 ? 0 : (style - 1) % kColours + 1);
}

std::string marker_path(size_t style, Point at, double r) {
  const auto n = svg_number;
  const auto polygon = [&](std::initializer_list<Point> corners) {
    std::string commands;
    for (const Point& c : corners) {
      commands += fmt::format("{}{} {}", commands.empty() ? 'M' : 'L', n(at.x + r * c.x),
                              n(at.y + r * c.y));
    }
    return commands + "Z";
  };
  switch (style % 5) {
    case 1:
      return polygon({{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}});
    case 2:
      return polygon({{0, -1.15}, {1.1, .85}, {-1.1, .85}});
    case 3:
      return polygon({{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}});
    case 4:
      return polygon({{0, 1.15}, {1.1, -.85}, {-1.1, -.85}});
    default:
      return fmt::format("M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0Z", n(at.x - r), n(at.y),
                         n(r), n(2 * r));
  }
}

std::string dashes(size_t style) {
  constexpr const char* kDashes[] = {"", "6 3", "2 2.5", "8 3 2 3"};
  return style == 0 ? "" : kDashes[(style - 1) / kColours % 4];
}

ScoreFill score_fill(double score) {
  const double s = std::clamp(score, 0.0, 1.0);
  return {s < 0.5 ? "bad" : "good", std::abs(2 * s - 1)};
}

}  // namespace longhaul
