// The page of `longhaul calibrate all`: well-formed, escaped, with a mark for every value.

#include "report/calibration_page.h"

#include <gtest/gtest.h>

#include "report/svg/bar_chart.h"
#include "report/svg/class_map.h"
#include "report/xml_check.h"

namespace longhaul {
namespace {

size_t marks_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(CalibrationPage, IsWellFormedAndEscapesEveryText) {
  CalibrationPage page{"<model>", "a & b", {"left out: \"x\" < y"}, {}};
  CalibrationSection section{"duo", "duo: <gates>", "found & kept", {}, {}, "note <b>"};
  section.charts.push_back(
      draw(BarChart{"Bars", "value <1>", {{"0", 1, true, "t<1>"}, {"1", 0, false, ""}}}));
  section.charts.push_back(
      draw(ClassMap{"Kinds", "head", "layer", {"a & b"}, {"0", "1"}, {"0"}, {{0, "x"}, {0, ""}}}));
  ReportTable table{{{"layer"}, {"theta"}}, {}};
  table.rows.push_back({"0", "", false, {{"0.9"}}});
  section.tables.push_back(table);
  page.sections.push_back(section);
  const std::string html = html_calibration(page);
  EXPECT_EQ(testing_support::XmlCheck::problem(html), "");
  EXPECT_EQ(html.find("<model>"), std::string::npos);
  EXPECT_EQ(html.find("<gates>"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("default-src &#39;none&#39;"), std::string::npos);
  EXPECT_NE(html.find("<a href=\"#duo\">"), std::string::npos);
}

TEST(CalibrationPage, BarsAndCellsAreDrawnOneByOne) {
  const std::string bars =
      draw(BarChart{"Bars", "y", {{"0", 2, true, ""}, {"1", 1, false, ""}, {"2", 0, false, ""}}})
          .element();
  EXPECT_EQ(marks_of(bars, "class=\"good\""), 1u);
  EXPECT_EQ(marks_of(bars, "class=\"bad\""), 2u);
  const std::string cells = draw(ClassMap{"Kinds",
                                          "x",
                                          "y",
                                          {"one", "two"},
                                          {"0", "1"},
                                          {"0", "1"},
                                          {{0, ""}, {1, ""}, {1, ""}, {1, ""}}})
                                .element();
  EXPECT_EQ(marks_of(cells, "mark s1"), 1u + 1) << "and one in the key";
  EXPECT_EQ(marks_of(cells, "mark s2"), 3u + 1);
}

}  // namespace
}  // namespace longhaul
