// Markdown, CSV, JSON and their text functions; frontier and axes.

#include <gtest/gtest.h>

#include "report/method_text.h"
#include "report/metric.h"
#include "report/run_maker.h"
#include "report/svg/axis.h"
#include "report/svg/label_places.h"
#include "report/svg/scatter.h"
#include "report/text.h"
#include "report/text_formats.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::has;
using testing_support::RunMaker;
using testing_support::small_run;

TEST(Text, Escapes) {
  EXPECT_EQ(escape_xml("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escape_xml("\xE2\x82\xAC \xF0\x9F\x9A\x80"), "\xE2\x82\xAC \xF0\x9F\x9A\x80");
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(escape_xml("\x01"), r);
  EXPECT_EQ(escape_xml("\xE2\x82"), r);                      // one per maximal part of a character
  EXPECT_EQ(escape_xml("\xC0\xAF"), r + r);                  // overlong
  EXPECT_EQ(escape_xml("\xED\xA0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(escape_xml("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(escape_xml("\xEF\xBF\xBE"), r);                  // U+FFFE
}

TEST(Text, CsvFields) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\"\nnow"), "\"say \"\"x\"\"\nnow\"");
  EXPECT_EQ(csv_field("=1+2"), "'=1+2");
  EXPECT_EQ(csv_field("-3.5"), "-3.5");
  EXPECT_EQ(csv_field(""), "");
}

TEST(Text, Numbers) {
  EXPECT_EQ(tokens_text(4096), "4K");
  EXPECT_EQ(tokens_text(1 << 20), "1M");
  EXPECT_EQ(tokens_text(3000), "3,000");
  EXPECT_EQ(length_text(0), "own");
  EXPECT_EQ(length_title(0), "Samples of their own length");
  EXPECT_EQ(length_title(4096), "4K tokens");
  EXPECT_EQ(percent_text(0.5), "50");
  EXPECT_EQ(percent_text(1), "100");
  EXPECT_EQ(percent_text(0.998), "99.8");
  EXPECT_EQ(percent_text(0.004), "0.4");
  EXPECT_EQ(percent_text(0.005), "0.5");
  EXPECT_EQ(percent_text(0.995), "99.5");
  EXPECT_EQ(percent_text(0), "0");
  EXPECT_EQ(signed_points(-0.35),
            "\xE2\x88\x92"
            "35");
  EXPECT_EQ(signed_points(0.004), "+0.4");
  EXPECT_EQ(signed_points(0), "0");
  EXPECT_EQ(p_value_text(0.0001), "< 0.001");
  EXPECT_EQ(p_value_text(0.0312), "0.031");
  EXPECT_EQ(shortened("a\nbcd", 3), "a b\xE2\x80\xA6");
  EXPECT_EQ(shortened("\xE2\x82\xAC", 1), "\xE2\x82\xAC");
  EXPECT_EQ(markdown_cell("a|b_<c>"), "a\\|b\\_&lt;c&gt;");
  EXPECT_EQ(sentence("finds it"), "Finds it.");
  EXPECT_EQ(file_part("needle, opened-snapkv:capacity=64"), "needle-opened-snapkv-capacity-64");
  EXPECT_EQ(file_part("../?"), "..");
  EXPECT_EQ(file_part("?"), "chart");
}

TEST(Metrics, PrintTheirNumbers) {
  const Metric score{"score"}, nll{"nll"};
  EXPECT_EQ(score.text(0.956), "96");
  EXPECT_EQ(score.text_with_unit(0.956), "95.6 %");
  EXPECT_EQ(score.difference_text(0.25), "+25");
  EXPECT_TRUE(score.better(0.1) && !score.better(-0.1));
  EXPECT_EQ(score.rule_text("the word is there"), "the word is there.");
  EXPECT_EQ(score.rule_text(""), "rule not recorded.");
  EXPECT_EQ(nll.text(2.3104), "2.310");
  EXPECT_EQ(nll.text_with_unit(2.3104), "2.3104");
  EXPECT_EQ(nll.difference_text(0.0124), "+0.012");
  EXPECT_EQ(nll.difference_text(-0.0124),
            "\xE2\x88\x92"
            "0.012");
  EXPECT_TRUE(nll.better(-0.1) && !nll.better(0.1));
  EXPECT_TRUE(has(nll.rule_text(""), {"nats", "lower is better"}));
}

TEST(Methods, AreTakenApartWithoutBeingChecked) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(method_name("infllm:block=64,topk=8"), "infllm");
  EXPECT_EQ(method_options("infllm:block=64,topk=8"), (Parts{"block=64", "topk=8"}));
  EXPECT_EQ(method_name("dense"), "dense");
  EXPECT_TRUE(method_options("dense").empty());
  EXPECT_EQ(method_name("control:no-context"), "control:no-context");
  EXPECT_TRUE(method_options("control:no-context").empty());
  const std::vector<std::string> all{"h2o:budget=64,roco=no", "h2o:budget=64", "tova",
                                     "control:no-context"};
  EXPECT_EQ(short_method(all[0], all), "h2o:roco=no");
  EXPECT_EQ(short_method(all[1], all), "h2o");
  EXPECT_EQ(short_method(all[2], all), "tova");
  EXPECT_EQ(short_method(all[3], all), "no-context");
}

TEST(Frontier, HoldsWhatNothingBeats) {
  const auto point = [](double x, double y) { return ScatterPoint{"", 0, x, y, ""}; };
  // Cheap and poor; beaten by the next; equal cost and better; expensive and best; expensive and
  // worse.
  const std::vector<ScatterPoint> points = {point(1, .2), point(2, .1), point(2, .5), point(9, .9),
                                            point(8, .4)};
  EXPECT_EQ(pareto_frontier(points), (std::vector<size_t>{0, 2, 3}));
  EXPECT_TRUE(pareto_frontier({}).empty());
}

TEST(Axes, TicksAreRoundAndWithin) {
  const Axis percent = make_axis({0.31, 0.97}, Unit::kPercent, false, 5);
  EXPECT_GE(percent.low, 0);
  EXPECT_LE(percent.high, 1);
  EXPECT_EQ(tick_text(0.2, Unit::kPercent), "20");
  for (const auto& [low, high] :
       {std::pair(1.0, 1.0), std::pair(3e-9, 4e-9), std::pair(0.9, 5000.0)}) {
    const Axis axis = make_axis({low, high}, Unit::kSeconds, true, 5);
    EXPECT_GE(axis.ticks.size(), 2);
    EXPECT_LE(axis.ticks.size(), 9);
    for (const double tick : axis.ticks)
      EXPECT_TRUE(tick >= axis.low * 0.999 && tick <= axis.high * 1.001);
  }
}

TEST(Labels, KeepTheirDistance) {
  const auto places = spread_labels({50, 52, 51, 10}, 12, 0, 100);
  std::vector<double> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i) EXPECT_GE(sorted[i] - sorted[i - 1], 12 - 1e-9);
  EXPECT_LT(places[0], places[2]);
  EXPECT_LT(places[2], places[1]);
  for (const double y : spread_labels(std::vector<double>(40, 99.0), 12, 0, 100)) {
    // Without room labels move closer together but stay inside.
    EXPECT_TRUE(y >= -1e-9 && y <= 100 + 1e-9);
  }
}

TEST(Commands, AreReadFromOldRunsAndFromWhatIsNoList) {
  const auto commands = [](const nlohmann::json& info) {
    RunFolder run;
    run.info = info;
    return commands_of(run);
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(commands({{"command", "a"}}), Texts{"a"});
  EXPECT_EQ(commands({{"command", "a"}, {"commands", nlohmann::json::array()}}), Texts{"a"});
  EXPECT_EQ(commands({{"command", "a"}, {"commands", {1, "b"}}}), Texts{"b"});
  EXPECT_EQ(commands({{"command", 3}, {"commands", "c"}}), Texts{});
}

class Formats : public ::testing::Test {
 protected:
  const Results& results_of(const std::vector<Record>& records) {
    runs_ = read_runs({maker_.make("run, one", records)});
    results_ = std::make_unique<Results>(runs_);
    return *results_;
  }
  RunMaker maker_;
  std::vector<RunFolder> runs_;
  std::unique_ptr<Results> results_;
};

TEST_F(Formats, Markdown) {
  const std::string text = markdown_report(results_of(small_run()));
  EXPECT_TRUE(
      has(text, {"# Evaluation of tiny", "## At a glance", "### needle", "the word is there.",
                 "100 (72\xE2\x80\x93"
                 "100)",
                 "50 (24\xE2\x80\x93"
                 "76)",
                 "control: no-context"}));
  EXPECT_TRUE(has(markdown_report(results_of({})), {"No sample has been answered yet"}));
}

TEST_F(Formats, MarkdownTellsSourceCommandsAndBuild) {
  nlohmann::json info = RunMaker::standard_info();
  info["tasks"][0]["source"] = "public-domain books";
  info["commands"] = {"longhaul eval needle --lengths 4096", "longhaul eval needle -n 3"};
  info["build"] = "v0.1-12-gabc";
  runs_ = read_runs({maker_.make("several", {answer("dense", "1", 1)}, info)});
  const std::string text = markdown_report(Results(runs_));
  EXPECT_TRUE(has(text, {"Score: the word is there. Source: public-domain books.",
                         "    longhaul eval needle --lengths 4096\n\n"
                         "    longhaul eval needle -n 3\n\n",
                         "Longhaul 0.1.0 (build v0.1-12-gabc) on A CPU"}));
  EXPECT_EQ(text.find("    longhaul eval needle\n"), std::string::npos);
}

TEST_F(Formats, Csv) {
  const std::string text = csv_report(results_of(small_run()));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 6);
  EXPECT_TRUE(has(text, {"run,task,opening,length,method,metric,n,failed,mean,low,high",
                         "\"run, one\",needle,false,8192,snapkv:capacity=64,score,10,0,0.5,0.23"}));
}

TEST_F(Formats, JsonHoldsCellsAndDifferences) {
  const auto json = json_report(results_of(small_run()));
  EXPECT_EQ(json["runs"][0]["answers"], 60);
  EXPECT_EQ(json["cells"].size(), 6);
  ASSERT_EQ(json["differences"].size(), 3);  // over both lengths, and for each
  EXPECT_EQ(json["differences"][0]["length"], nullptr);
  EXPECT_EQ(json["differences"][0]["n"], 20);
  EXPECT_EQ(json["differences"][2]["length"], 8192);
}

TEST_F(Formats, ComparisonsSayWhatWasLeftOut) {
  std::vector<Record> records = small_run();
  records.push_back(answer("dense", "extra", 1));
  const Results& r = results_of(records);
  const Comparison c = compare_series(r, pairs_against(r, "dense"));
  EXPECT_TRUE(has(markdown_comparison(r, c, "All against dense"),
                  {"20 pairs", "Only common samples count: 1 of a and 0 of b",
                   "0 of 1 differences are real", "snapkv against dense",
                   "\xE2\x88\x92"
                   "25",
                   "By length"}));
  EXPECT_TRUE(has(markdown_comparison(r, {}, "x"), {"no sample in common"}));
}

}  // namespace
}  // namespace longhaul
