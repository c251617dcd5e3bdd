// Grouping of records in cells, and comparisons.

#include "report/results.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/compare.h"
#include "report/costs.h"
#include "report/html_page.h"
#include "report/recall.h"
#include "report/report_fixture.h"
#include "report/text_formats.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::error_of;
using testing_support::has;
using testing_support::small_run;

class ResultsTest : public testing_support::ReportFixture {};

TEST_F(ResultsTest, DenseFirstControlsLastAndShortNames) {
  const Results& r = results_of({small_run()});
  ASSERT_EQ(r.series().size(), 3);
  EXPECT_EQ(r.series()[0].label, "dense");
  EXPECT_EQ(r.series()[1].label, "snapkv");
  EXPECT_EQ(r.series()[2].label, "no-context");
  EXPECT_TRUE(r.series()[2].control);
  ASSERT_EQ(r.variants().size(), 1);
  EXPECT_EQ(r.variants()[0].rule, "the word is there");
  EXPECT_EQ(r.lengths(), (std::vector<int64_t>{4096, 8192}));
  EXPECT_EQ(r.answers(), 60);
  const Cell* cell = r.cell(0, 8192, 1);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->score.n, 10);
  EXPECT_EQ(cell->score.mean, 0.5);
  EXPECT_EQ(r.cell(0, 1024, 1), nullptr);
  EXPECT_FALSE(r.unfinished());
  EXPECT_EQ(quality_at(r, 1, 8192)->mean, 0.5);
  EXPECT_EQ(cost_at(r, 1, 8192).kv_bytes, 1 << 18);
}

TEST_F(ResultsTest, SaysWhetherTheRunIsFinished) {
  nlohmann::json info = testing_support::RunMaker::standard_info();
  info["unfinished"] = {{"methods", {"h2o"}}};
  EXPECT_TRUE(results_of({small_run()}, info).unfinished());
  info.erase("unfinished");
  EXPECT_FALSE(results_of({small_run()}, info).unfinished());
  std::vector<Record> records = small_run();
  records.push_back(answer("dense", "10", 1));
  EXPECT_TRUE(results_of({records}).unfinished()) << "snapkv has not answered it";
}

/// A text that was read, or failed to be read, is one answer, whatever its number of stretches.
TEST_F(ResultsTest, StretchesOfATextAreOneAnswer) {
  std::vector<Record> records;
  for (const char* method : {"dense", "snapkv:capacity=64"}) {
    for (const int64_t position : {0, 1024}) {
      Record r = answer(method, "0@" + std::to_string(position), 3, 4096, "book");
      r.metric = "nll";
      r.position = position;
      if (method[0] == 's') r.error = "no memory";
      records.push_back(r);
    }
  }
  const Results& r = results_of({records});
  EXPECT_EQ(r.answers(), 2);
  EXPECT_EQ(r.cell(0, 4096, 0)->answers, 1);
  EXPECT_EQ(r.cell(0, 4096, 0)->failed, 0);
  EXPECT_EQ(r.cell(0, 4096, 1)->failed, 1);
}

TEST_F(ResultsTest, RunsOfOneNameAreCalledByTheirFolders) {
  std::vector<std::filesystem::path> folders;
  for (const char* parent : {"a", "b", "c"}) {
    std::filesystem::create_directory(maker_.folder().path() / parent);
    folders.push_back(maker_.make(std::string(parent) + "/x", small_run()));
  }
  const std::vector<RunFolder> runs = read_runs(folders);
  for (size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i].name, folders[i].string());
}

TEST_F(ResultsTest, NamesTellSettingsAndRunsApart) {
  const std::vector<Record> run = {answer("dense", "1", 1), answer("tova", "1", 1),
                                   answer("tova:budget=64", "1", 1)};
  const Results& r = results_of({run, {answer("dense", "1", 1), answer("h2o:budget=9", "1", 1)}});
  std::vector<std::string> labels;
  for (const Series& s : r.series()) labels.push_back(s.label);
  EXPECT_EQ(labels,
            (std::vector<std::string>{"dense (0)", "tova", "tova:budget=64", "dense (1)", "h2o"}));
}

TEST_F(ResultsTest, NamesLeaveOutWhatAllSettingsOfAMethodShare) {
  const Results& r = results_of({{answer("infllm:block=64,topk=8", "1", 1),
                                  answer("infllm:block=64,repr_mode=max,topk=8", "1", 1),
                                  answer("infllm:block=64,repr_mode=max,topk=9", "1", 1)}});
  std::vector<std::string> labels;
  for (const Series& s : r.series()) labels.push_back(s.label);
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, (std::vector<std::string>{"infllm:repr_mode=max,topk=8",
                                              "infllm:repr_mode=max,topk=9", "infllm:topk=8"}));
}

TEST_F(ResultsTest, AnswersNeverGivenCountAsZeroButNotForControls) {
  Record failed = answer("dense", "2", 0), control = answer("control:no-context", "1", 0);
  failed.error = control.error = "no memory";
  const Results& r = results_of({{answer("dense", "1", 1), failed, control}});
  EXPECT_EQ(r.cell(0, 4096, 0)->score.mean, 0.5);
  EXPECT_EQ(r.cell(0, 4096, 0)->failed, 1);
  EXPECT_EQ(r.cell(0, 4096, 1)->score.n, 0);
  EXPECT_FALSE(quality_at(r, 1, 4096).has_value());
}

TEST_F(ResultsTest, StretchesOfOneTextAreOneSampleWeightedByTokens) {
  std::vector<Record> records;
  for (const auto& [position, tokens, nll] : {std::tuple(0, 100, 4.0), std::tuple(100, 300, 2.0)}) {
    Record r = answer("dense", "emma@" + std::to_string(position), 0, 4096, "perplexity");
    r.metric = "nll";
    r.position = position;
    r.reply_tokens = tokens;
    r.score = nll;
    records.push_back(r);
  }
  const Results& r = results_of({records});
  EXPECT_EQ(r.cell(0, 4096, 0)->score.n, 1);
  EXPECT_DOUBLE_EQ(r.cell(0, 4096, 0)->score.mean, 2.5);
  EXPECT_FALSE(r.cell(0, 4096, 0)->score.interval.has_value());
  EXPECT_TRUE(scored_lengths(r).empty());
}

TEST_F(ResultsTest, ComparesMethodsOnTheSameSamples) {
  const Results& r = results_of({small_run()});
  const Comparison c = compare_series(r, pairs_against(r, "dense"));
  ASSERT_EQ(c.over_lengths.size(), 1);
  const Difference& all = c.over_lengths[0];
  EXPECT_EQ(all.paired.n, 20);
  EXPECT_EQ(all.paired.difference, -0.25);
  EXPECT_EQ(all.paired.p, 0.0625);  // 2 * 0.5^5
  EXPECT_EQ(all.p_holm, 0.0625);
  EXPECT_FALSE(all.real());
  ASSERT_EQ(c.by_length.size(), 2);
  EXPECT_EQ(c.by_length[1].length, 8192);
  EXPECT_EQ(c.by_length[1].paired.n, 10);
  EXPECT_EQ(c.by_length[1].p_holm, 0.125);  // for two comparisons
  EXPECT_EQ(pairs_of_methods(r, "dense", "snapkv").size(), 1);
  EXPECT_TRUE(has(error_of([&] { pairs_against(r, "infllm"); }), {"infllm", "snapkv:capacity=64"}));
}

TEST_F(ResultsTest, RecallIsTheMeanOfTheRecordsThatTellIt) {
  std::vector<Record> records{answer("dense", "0", 1), answer("dense", "1", 1),
                              answer("snapkv:capacity=64", "0", 0),
                              answer("snapkv:capacity=64", "1", 0), answer("dense", "2", 1, 8192)};
  records[0].recall = {1, 1};
  records[2].recall = {0.5, 0};
  records[3].recall = {0.25, 1};
  const Results& results = results_of({records});
  const std::vector<RecallTable> tables = recall_tables(results);
  ASSERT_EQ(tables.size(), 1u) << "nothing is known of 8,192 tokens";
  EXPECT_EQ(tables[0].length, 4096);
  EXPECT_EQ(tables[0].layers, 2u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(tables[0].rows[0].answers, 1);
  EXPECT_EQ(tables[0].rows[1].layers, (std::vector<double>{0.375, 0.5}));
  const std::string page = html_report(results), text = markdown_report(results);
  EXPECT_NE(page.find("id=\"recall\""), std::string::npos);
  EXPECT_NE(text.find("## What the replies could see"), std::string::npos);
  EXPECT_NE(text.find("| snapkv |  38 |  50 |"), std::string::npos) << text;
}

TEST_F(ResultsTest, SourcesAreCountedOverRightAnswers) {
  std::vector<Record> records;
  for (int i = 0; i < 4; ++i) {
    Record r = answer("dense", std::to_string(i), i < 3 ? 1 : 0);
    r.recall = {1};
    r.source_rank = i == 0 ? 2 : 1;
    records.push_back(r);
    r.method = "snapkv:capacity=64";
    r.source_rank.reset();
    records.push_back(r);
  }
  const Results& results = results_of({records});
  const std::vector<RecallTable> tables = recall_tables(results);
  ASSERT_EQ(tables.at(0).rows.size(), 2u);
  EXPECT_EQ(tables[0].rows[0].right, 3);
  EXPECT_EQ(tables[0].rows[0].first, 2);
  EXPECT_TRUE(has(markdown_report(results), {"| method | source first, % |   0 |",
                                             "| dense  |      67 (21\xE2\x80\x93"
                                             "94) | 100 |"}));
}

TEST_F(ResultsTest, RunsWithDifferentSamplesCountOnlyTheCommonOnes) {
  std::vector<Record> a, b;
  for (int i = 0; i < 8; ++i) a.push_back(answer("dense", std::to_string(i), 0));
  for (int i = 5; i < 15; ++i) b.push_back(answer("dense", std::to_string(i), 1));
  b.front().prompt_hash = "other";
  a.push_back(answer("tova", "0", 1));
  a.push_back(answer("dense", "0", 1, 8192));
  const Results& r = results_of({a, b});
  const auto pairs = pairs_of_runs(r);
  ASSERT_EQ(pairs.size(), 1);
  const Comparison c = compare_series(r, pairs);
  ASSERT_EQ(c.over_lengths.size(), 1);
  EXPECT_EQ(c.over_lengths[0].paired.n, 3);
  EXPECT_EQ(c.over_lengths[0].paired.difference, 1);
  EXPECT_EQ(c.over_lengths[0].only_a, 6);
  EXPECT_EQ(c.over_lengths[0].only_b, 7);
  EXPECT_EQ(c.over_lengths[0].other_prompts, 1);
  EXPECT_EQ(c.by_length.size(), 1);
}

TEST_F(ResultsTest, RunsOfOneMethodEachArePairedWhateverItIs) {
  std::vector<Record> a, b;
  for (int i = 0; i < 4; ++i) {
    a.push_back(answer("dense", std::to_string(i), 1));
    b.push_back(answer("duo", std::to_string(i), 0));
    for (auto* run : {&a, &b}) run->push_back(answer("control:no-context", std::to_string(i), 0));
  }
  const Results& r = results_of({a, b});
  ASSERT_EQ(r.series().size(), 4u);
  EXPECT_EQ(r.series()[0].method, "dense");
  EXPECT_EQ(r.series()[1].method, "duo");
  using Pairs = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(pairs_of_runs(r), (Pairs{{0, 1}, {2, 3}}));
  const Comparison c = compare_series(r, pairs_of_runs(r));
  ASSERT_EQ(c.over_lengths.size(), 2u);
  EXPECT_EQ(c.over_lengths[0].paired.n, 4);
  EXPECT_EQ(c.over_lengths[0].paired.difference, -1);
  EXPECT_EQ(c.over_lengths[1].paired.difference, 0);
}

TEST_F(ResultsTest, RunsWithoutACommonMethodAreNamedWithTheirMethods) {
  const Results& r = results_of({{answer("dense", "1", 1), answer("tova", "1", 1)},
                                 {answer("duo", "1", 1), answer("control:no-context", "1", 0)}});
  EXPECT_TRUE(has(error_of([&] { pairs_of_runs(r); }),
                  {"no method in common", "0 has dense, tova;", "1 has duo"}));
  EXPECT_TRUE(pairs_of_runs(results_of({{}, {answer("dense", "1", 1)}})).empty());
}

/// `book` reads other places for other lengths.
TEST_F(ResultsTest, TextsOfOneNumberAreAPairOfEachLength) {
  std::vector<Record> records;
  for (const char* method : {"dense", "tova"}) {
    for (const int64_t length : {2048, 4096}) {
      for (const char* text : {"emma", "frankenstein"}) {
        Record r = answer(method, std::string(text) + "@0", 0, length, "book");
        r.metric = "nll";
        r.position = 0;
        r.reply_tokens = length;
        r.score = method[0] == 'd' ? 3 : length == 2048 ? 3.5 : 5;
        records.push_back(r);
      }
    }
  }
  const Results& r = results_of({records});
  const Comparison c = compare_series(r, pairs_against(r, "dense"));
  ASSERT_EQ(c.over_lengths.size(), 1);
  EXPECT_EQ(c.over_lengths[0].paired.n, 4);
  EXPECT_NEAR(c.over_lengths[0].paired.difference, (0.5 + 2.0) / 2, 1e-12);
  ASSERT_EQ(c.by_length.size(), 2);
  EXPECT_EQ(c.by_length[0].paired.n, 2);
}

TEST_F(ResultsTest, HostileFoldersAreNamed) {
  const auto refused = [&](const std::filesystem::path& p) {
    return error_of([&] { read_run(p); });
  };
  const std::string good = to_json(answer("dense", "1", 1)) + "\n";
  EXPECT_TRUE(has(refused(maker_.folder().path() / "nothing"), {"nothing", "no folder"}));
  std::filesystem::create_directory(maker_.folder().path() / "bare");
  EXPECT_TRUE(has(refused(maker_.folder().path() / "bare"), {"no run.json"}));
  EXPECT_TRUE(has(refused(maker_.make_raw("a", good, "[]")), {"run.json", "object"}));
  EXPECT_TRUE(
      has(refused(maker_.make_raw("b", good + "{\"task\":1}\n", "{}")), {"line 2", "'task'"}));
  EXPECT_TRUE(has(refused(maker_.make_raw("c", "\xff\xfe\n", "{}")), {"line 1", "JSON"}));
  const auto twice = maker_.make("d", {});
  EXPECT_TRUE(has(error_of([&] { read_runs({twice, twice / "."}); }), {"given twice"}));
}

}  // namespace
}  // namespace longhaul
