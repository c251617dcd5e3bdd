// The page: well-formed, self-contained, escaped. It has charts and reports missing data.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/charts.h"
#include "report/html_page.h"
#include "report/run_maker.h"
#include "report/xml_check.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::has;
using testing_support::RunMaker;
using testing_support::small_run;
using testing_support::XmlCheck;

std::string page_of(const std::vector<Record>& records,
                    const nlohmann::json& info = RunMaker::standard_info()) {
  const RunMaker maker;
  const auto runs = read_runs({maker.make("run", records, info)});
  return html_report(Results(runs));
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t i = text.find(part); i != text.npos; i = text.find(part, i + 1)) ++count;
  return count;
}

/// Checks that the page loads nothing from elsewhere and has only its own script.
void expect_self_contained(const std::string& page) {
  EXPECT_EQ(XmlCheck::problem(page), "");
  for (const char* reach : {"<script ", "<link", "<img", "<iframe", "<object", "<embed", "@import",
                            "url(", " src=", "href=\"h", "onload", "javascript:"}) {
    EXPECT_EQ(page.find(reach), std::string::npos) << reach;
  }
  EXPECT_EQ(count_of(page, "<script>"), 1);
  EXPECT_TRUE(has(page, {"content=\"default-src &#39;none&#39;;"}));
}

TEST(XmlCheck, FindsWhatIsWrong) {
  EXPECT_EQ(XmlCheck::problem("<a b=\"1\">x &amp; y<c/></a>"), "");
  for (const char* bad :
       {"", "<a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>", "<a>&</a>",
        "<a b=\"<\"/>", "<a/><b/>", "<a>\x01</a>", "x<a/>", "< a/>"}) {
    EXPECT_NE(XmlCheck::problem(bad), "") << bad;
  }
}

TEST(HtmlReport, ShowsWhatWasRunAndFound) {
  const std::string page = page_of(small_run());
  expect_self_contained(page);
  EXPECT_TRUE(has(page, {"Evaluation of tiny", "A CPU, 2 threads, seed 7, 2026-01-02", "0.1.0",
                         "longhaul eval needle", "the word is there", "1.0 MiB",
                         "2 methods and 1 control on 1 task; 60 answers, 10 a cell"}));
  // Wilson interval of 5 of 10, and the tooltip of the significant difference.
  EXPECT_TRUE(has(page, {">50<small>24\xE2\x80\x93"
                         "76</small>",
                         "McNemar, exact", ", 20 pairs,"}));
  // Heat maps, including the control's.
  EXPECT_EQ(count_of(page, "by context, tokens and depth"), 3);
  EXPECT_TRUE(
      has(page, {"Quality against cost", "Time to the first token", "prefers-color-scheme"}));
  EXPECT_TRUE(has(page, {"<tbody class=\"apart\">", "Every sample was answered",
                         "<b>Wrong replies: 5</b>", "<b>0 of 1 difference</b> <span>are real"}));
}

TEST(HtmlReport, OpensWithAVerdict) {
  const std::string page = page_of(small_run());
  const size_t verdict = page.find("<section id=\"verdict\">");
  EXPECT_LT(verdict, page.find("<nav"));
  EXPECT_LT(verdict, page.find("<table"));
  EXPECT_TRUE(has(page, {"8K tokens: dense scores 100\xC2\xA0%", "0 of 1 methods"}));
}

TEST(HtmlReport, ColumnsSortByNumbersAndRowsAreFilteredByNames) {
  const std::string page = page_of(small_run());
  // The first click sorts the best first. Cells sort by their unrounded values.
  EXPECT_TRUE(has(page, {"data-first=\"ascending\" class=\"num\" title=\"median time to the first "
                         "token\">first token (8K)</th>",
                         "data-first=\"descending\" class=\"num\">8K</th>",
                         "<tr data-m=\"snapkv\"><th scope=\"row\" title=\"snapkv:capacity=64\">",
                         "data-v=\"262144\">256.0 KiB</td>", "<input id=\"filter\""}));
}

TEST(HtmlReport, WhatIsLongIsFolded) {
  const std::string page = page_of(small_run());
  EXPECT_EQ(count_of(page, "<details name=\"length\">"), 2);
  EXPECT_EQ(count_of(page, "<details"), count_of(page, "</details>"));
  EXPECT_EQ(page.find(" open="), std::string::npos);
}

TEST(HtmlReport, EveryTextIsEscaped) {
  const std::string evil = "</style><script>alert('x')</script>&\"<!--";
  Record r = answer(evil, evil, 0.25);
  r.task = r.reply = r.error = evil;
  r.expected = {evil};
  r.depth = 0.5;
  Record wrong = r;
  wrong.id += "2";
  wrong.error.clear();
  r.group = evil;
  nlohmann::json info = {
      {"model", {{"name", evil}, {evil, evil}}},
      {"version", evil},
      {"command", evil},
      {"commands", nlohmann::json::array({evil, evil})},
      {"build", evil},
      {"methods", {evil, 3}},
      {evil, {evil}},
      {"tasks", {{{"name", evil}, {"rule", evil}, {"summary", evil}, {"source", evil}}}}};
  Record dense = wrong;
  dense.method = "dense";
  const std::string page = page_of({r, wrong, dense}, info);
  EXPECT_EQ(XmlCheck::problem(page), "");
  EXPECT_EQ(count_of(page, "<script"), 1);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_GT(count_of(page, "&lt;script&gt;"), 10);
}

TEST(HtmlReport, ListsEveryCommandAndTheBuild) {
  nlohmann::json info = RunMaker::standard_info();
  info["commands"] = {"longhaul eval needle --lengths 4096", "longhaul eval needle -n 3"};
  info["build"] = "v0.1-12-gabc";
  const std::string page = page_of({answer("dense", "1", 1)}, info);
  EXPECT_TRUE(has(page, {"<dd><code>longhaul eval needle --lengths 4096</code></dd>",
                         "<dd><code>longhaul eval needle -n 3</code></dd>",
                         "<dt>build</dt><dd>v0.1-12-gabc</dd>",
                         "Longhaul 0.1.0 (build v0.1-12-gabc) on A CPU"}));
  EXPECT_EQ(count_of(page, "<dt>command</dt>"), 2);
  EXPECT_EQ(page.find("<dt>commands</dt>"), std::string::npos);
}

TEST(HtmlReport, LeadsToWhatTheRepliesCouldSee) {
  Record r = answer("dense", "1", 1);
  r.recall = {0.5, 1};
  const std::string page = page_of({r});
  EXPECT_TRUE(has(page, {"<a href=\"#recall\">What the replies could see</a>",
                         "which heads have it matters too", "<b>4K tokens</b> <span>by layer"}));
  EXPECT_EQ(page_of({answer("dense", "1", 1)}).find("#recall"), std::string::npos);
}

TEST(HtmlReport, AnEmptyRunSaysSo) {
  const std::string page = page_of({}, nlohmann::json::object());
  expect_self_contained(page);
  EXPECT_TRUE(has(page, {"no sample has been answered yet", "0 answers"}));
}

TEST(HtmlReport, OneMethodOneSample) {
  const std::string page = page_of({answer("dense", "1", 0.5)});
  expect_self_contained(page);
  EXPECT_EQ(page.find("id=\"frontier\""), std::string::npos);
  EXPECT_EQ(page.find("id=\"differences\""), std::string::npos);
  EXPECT_TRUE(has(page, {"At a glance", ">50<"}));
}

TEST(HtmlReport, MissingCellsAndFailuresAreShown) {
  Record failed = answer("tova", "2", 0, 8192);
  failed.error = "KV cache does not fit";
  const std::string page =
      page_of({answer("dense", "1", 1), answer("dense", "1", 1, 8192), answer("tova", "1", 1, 8192),
               failed, answer("h2o", "1", 1, 0)});
  expect_self_contained(page);
  EXPECT_TRUE(has(page, {"title=\"not asked\"", "1 answer was never given", "KV cache does not fit",
                         "50*", "1 without an answer", ">own<", "The run is not finished"}));
}

TEST(HtmlReport, ATornRunWarns) {
  const RunMaker maker;
  const auto folder = maker.make_raw("run", to_json(answer("dense", "1", 1)) + "\n{\"ta", "{}");
  const auto runs = read_runs({folder});
  EXPECT_TRUE(
      has(html_report(Results(runs)), {"the last line of samples.jsonl is cut off", "1 answer, "}));
}

TEST(HtmlReport, WildNumbersStayInTheFrame) {
  std::vector<Record> records;
  for (const char* method : {"dense", "tova", "h2o"}) {
    for (const int64_t length : {int64_t{1}, int64_t{1} << 59}) {
      Record r = answer(method, "1", 1, length);
      r.first_token_seconds = method[0] == 'd' ? 1e12 : 1e-12;
      r.decode_tokens_per_second = method[0] == 't' ? 1e-12 : 1e12;
      r.kv_bytes = method[0] == 'd' ? int64_t{1} << 60 : 1;
      records.push_back(r);
    }
  }
  expect_self_contained(page_of(records));
}

TEST(Charts, FilesAreWellFormedAndNamedAfterWhatTheyShow) {
  const RunMaker maker;
  std::vector<Record> records = small_run();
  for (const int position : {0, 512, 1024}) {
    Record r = answer("dense", "emma@" + std::to_string(position), 0, 4096, "perplexity");
    r.metric = "nll";
    r.position = position;
    r.reply_tokens = 512;
    r.score = 3;
    records.push_back(r);
  }
  const auto runs = read_runs({maker.make("run", records)});
  std::set<std::string> names;
  for (const NamedChart& chart : all_charts(Results(runs))) {
    names.insert(chart.name);
    const std::string file = chart.svg.file();
    EXPECT_EQ(XmlCheck::problem(file), "") << chart.name;
    EXPECT_TRUE(has(file, {"xmlns=\"http://www.w3.org/2000/svg\"", "prefers-color-scheme:dark"}));
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"score-against-time-4096", "score-against-compression-4096",
                                   "score-against-time-8192", "score-against-compression-8192",
                                   "time-to-first-token", "decoding", "kv-cache", "needle-dense",
                                   "needle-snapkv", "needle-no-context", "perplexity-4096"}));
}

}  // namespace
}  // namespace longhaul
