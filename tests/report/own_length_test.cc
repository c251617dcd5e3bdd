// Cases with their own length (0 in records) have everything that other tasks have.

#include <gtest/gtest.h>

#include <set>

#include "report/charts.h"
#include "report/costs.h"
#include "report/cut_texts.h"
#include "report/html_page.h"
#include "report/report_fixture.h"
#include "report/text_formats.h"
#include "report/xml_check.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::has;
using testing_support::XmlCheck;

class OwnLength : public testing_support::ReportFixture {};

/// Four cases: dense has all of them right, snapkv one.
std::vector<Record> own_cases() {
  std::vector<Record> records;
  for (int i = 0; i < 4; ++i) {
    const std::string id = std::to_string(i);
    records.push_back(answer("dense", id, 1, 0, "jsonl:cases"));
    records.push_back(answer("snapkv:capacity=64", id, i == 0 ? 1 : 0, 0, "jsonl:cases"));
  }
  return records;
}

std::set<std::string> names_of(const std::vector<NamedChart>& charts) {
  std::set<std::string> names;
  for (const NamedChart& chart : charts) names.insert(chart.name);
  return names;
}

TEST_F(OwnLength, IsALengthLikeOthers) {
  const Results& r = results_of({own_cases()});
  const std::vector<int64_t> lengths = scored_lengths(r);
  EXPECT_EQ(lengths, (std::vector<int64_t>{0}));
  EXPECT_EQ(main_length(r), 0);
  EXPECT_EQ(quality_at(r, 1, 0)->mean, 0.25);
  EXPECT_EQ(cost_at(r, 1, 0).kv_bytes, 1 << 18);
}

TEST_F(OwnLength, MethodsThatTellNoTimeHaveNoCosts) {
  std::vector<Record> records = own_cases();
  for (Record& r : records) r.first_token_seconds = 0;
  const Results& r = results_of({records});
  EXPECT_TRUE(has(markdown_report(r), {"| dense  | 100 |                 \xE2\x80\x93 |"}));
}

TEST_F(OwnLength, StandsAtAGlance) {
  const Results& r = results_of({own_cases()});
  EXPECT_TRUE(has(markdown_report(r),
                  {"own: the samples' own lengths",
                   "| method | own | first token (own) | tokens/s |  KV cache | pairs, % |",
                   "| dense  | 100 |             2.0 s |     50.0 |   1.0 MiB |      100 |",
                   "| snapkv |  25 |             1.0 s |     50.0 | 256.0 KiB |       25 |"}));
  const std::string page = html_report(r);
  EXPECT_EQ(XmlCheck::problem(page), "");
  EXPECT_TRUE(has(page, {"<section id=\"glance\">", "class=\"num\">own</th>", ">256.0 KiB</td>",
                         "<section id=\"frontier\">", "Samples of their own length"}));
  EXPECT_EQ(page.find("<section id=\"costs\">"), std::string::npos)
      << "there is no axis of lengths";
}

TEST_F(OwnLength, TellsWhichTextsWereCutAndToWhat) {
  std::vector<Record> records = own_cases();
  EXPECT_EQ(cut_text(results_of({records}), 0), "");
  EXPECT_EQ(markdown_report(*results_).find("cut to"), std::string::npos);
  EXPECT_EQ(html_report(*results_).find("cut to"), std::string::npos);
  for (Record& r : records) {
    if (r.id == "0") continue;
    r.cut_tokens = 1000 + 100 * std::stoi(r.id);
    r.cut_to = 4096;
  }
  const Results& r = results_of({records});
  const std::string told =
      "3 of 4 samples were cut to 4,096 tokens, reply included: the middle of the text, 1,100 to "
      "1,300 tokens, was taken out.";
  EXPECT_EQ(cut_text(r, 0), told);
  EXPECT_TRUE(has(markdown_report(r), {told}));
  EXPECT_TRUE(has(html_report(r), {"<b>Cut:</b> " + told}));
  EXPECT_EQ(XmlCheck::problem(html_report(r)), "");
  EXPECT_EQ(json_report(r)["cells"][0]["cut"], 3);
  EXPECT_TRUE(has(csv_report(r), {",pairs_share,cut,group\n", ",3,\n"}));
}

TEST_F(OwnLength, HasAFrontierButNoPlaceOnAnAxisOfLengths) {
  std::vector<Record> records = own_cases();
  const std::set<std::string> own{"score-against-time-own", "score-against-compression-own"};
  EXPECT_EQ(names_of(all_charts(results_of({records}))), own);

  for (const char* method : {"dense", "snapkv:capacity=64"}) {
    records.push_back(answer(method, "1", 1, 4096));
  }
  EXPECT_TRUE(cost_charts(results_of({records})).empty()) << "4,096 tokens alone are no curve";
  records.push_back(answer("dense", "1", 1, 8192));
  const Results& r = results_of({records});
  EXPECT_EQ(scored_lengths(r), (std::vector<int64_t>{0, 4096, 8192}));
  const std::vector<NamedChart> charts = cost_charts(r);
  EXPECT_EQ(names_of(charts),
            (std::set<std::string>{"time-to-first-token", "decoding", "kv-cache"}));
  for (const NamedChart& chart : charts) {
    EXPECT_EQ(XmlCheck::problem(chart.svg.file()), "") << chart.name;
    EXPECT_TRUE(has(chart.svg.file(), {"dense, 4K tokens", "dense, 8K tokens"}));
    EXPECT_EQ(chart.svg.file().find("dense, 0 tokens"), std::string::npos);
  }
  EXPECT_EQ(main_length(r), 4096) << "both methods answered there; at 8,192 only one did";
}

}  // namespace
}  // namespace longhaul
