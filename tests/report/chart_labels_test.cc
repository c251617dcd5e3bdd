// Labels in charts: short and unique.

#include "report/chart_labels.h"

#include <gtest/gtest.h>

#include <set>

#include "report/charts.h"
#include "report/report_fixture.h"

namespace longhaul {
namespace {

using testing_support::answer;

class ChartLabels : public testing_support::ReportFixture {};

TEST_F(ChartLabels, OptionsThatAreCutOffStandWhereNamesWouldBeAlike) {
  const Results& r = results_of(
      {{answer("dense", "1", 1), answer("infllm:block=64,n_init=64,n_local=128,topk=4", "1", 1),
        answer("infllm:block=64,n_init=64,n_local=256,topk=4", "1", 1),
        answer("infllm:block=32,n_init=32,n_local=128,topk=2", "1", 1)}});
  const std::vector<std::string> labels = chart_labels(r, 26);
  EXPECT_EQ(labels[0], "dense");
  EXPECT_EQ(labels[1], "infllm:n_local=128");
  EXPECT_EQ(labels[2], "infllm:n_local=256");
  EXPECT_EQ(std::set(labels.begin(), labels.end()).size(), labels.size());
}

TEST_F(ChartLabels, NumbersStandWhereNothingShortTellsThemApart) {
  const std::string name = "a-method-of-a-very-long-name-";
  const Results& r = results_of({{answer(name + "x", "1", 1), answer(name + "y", "1", 1)}});
  const std::vector<std::string> labels = chart_labels(r, 20);
  EXPECT_TRUE(labels[0].ends_with(" [1]")) << labels[0];
  EXPECT_TRUE(labels[1].ends_with(" [2]")) << labels[1];
}

TEST_F(ChartLabels, OneMethodOfTwoRunsIsToldByTheRun) {
  std::vector<std::filesystem::path> folders;
  for (const char* run : {"run-with-a-long-name-seed-1", "run-with-a-long-name-seed-2"}) {
    folders.push_back(maker_.make(run, {answer("dense", "1", 1)}));
  }
  runs_ = read_runs(folders);
  const std::vector<std::string> labels = chart_labels(Results(runs_), 20);
  EXPECT_EQ(labels[0],
            "dense (\xE2\x80\xA6"
            "name-seed-1)");
  EXPECT_EQ(labels[1],
            "dense (\xE2\x80\xA6"
            "name-seed-2)");
}

/// Depths in tenths: "90–100 %" is wider than a depth.
TEST_F(ChartLabels, RowsOfHeatMapsHaveRoomForTheirNames) {
  std::vector<Record> records;
  for (int i = 0; i < 20; ++i) {
    records.push_back(answer("dense", std::to_string(i), 1));
    records.back().depth = i / 20.0;
  }
  const std::vector<NamedChart> maps = heat_maps(results_of({records}), 0);
  ASSERT_EQ(maps.size(), 1);
  const std::string text = maps[0].svg.file(), label =
                                                   "90\xE2\x80\x93"
                                                   "100 %";
  const size_t end = text.find(">" + label);
  ASSERT_NE(end, std::string::npos);
  const size_t x = text.rfind("<text x=\"", end) + 9;
  EXPECT_GE(std::stod(text.substr(x)), Svg::text_width(label, 11.5));
}

TEST_F(ChartLabels, DepthsThatLieNearEachOtherKeepDifferentNames) {
  std::vector<Record> records;
  for (const double depth : {0.0, 0.001, 0.5}) {
    records.push_back(answer("dense", std::to_string(records.size()), 1));
    records.back().depth = depth;
  }
  const std::string text = heat_maps(results_of({records}), 0).at(0).svg.file();
  for (const char* label : {">0.0 %<", ">0.1 %<", ">50.0 %<"}) {
    EXPECT_NE(text.find(label), std::string::npos) << label;
  }
}

}  // namespace
}  // namespace longhaul
