// Tables by Record::group, and their output.

#include "report/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "report/html_page.h"
#include "report/report_fixture.h"
#include "report/text_formats.h"
#include "report/xml_check.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::has;
using testing_support::XmlCheck;

Record grouped(Record record, const std::string& group) {
  record.group = group;
  return record;
}

/// Two cases each of "10 calls" and "2 calls", and one without group. dense has all of them right.
/// snapkv has one of "2 calls" and the one without group right.
std::vector<Record> calls() {
  std::vector<Record> records;
  const std::pair<const char*, double> cases[] = {
      {"10 calls", 0}, {"2 calls", 1}, {"10 calls", 0}, {"2 calls", 0}, {"", 1}};
  int id = 0;
  for (const auto& [group, score] : cases) {
    const std::string name = std::to_string(id++);
    records.push_back(grouped(answer("dense", name, 1, 0, "calls"), group));
    records.push_back(grouped(answer("snapkv:capacity=64", name, score, 0, "calls"), group));
  }
  return records;
}

/// One answer in each of `count` groups.
std::vector<Record> in_groups(int count) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) {
    records.push_back(grouped(answer("dense", std::to_string(i), 1), "g" + std::to_string(i)));
  }
  return records;
}

class Groups : public testing_support::ReportFixture {};

TEST_F(Groups, AreRowsInTheOrderOfTheirNumbers) {
  const std::vector<GroupTable> tables = group_tables(results_of({calls()}), 0);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].length, 0);
  EXPECT_EQ(tables[0].series, (std::vector<size_t>{0, 1}));
  std::vector<std::string> groups;
  for (const GroupRow& row : tables[0].rows) groups.push_back(row.group);
  EXPECT_EQ(groups, (std::vector<std::string>{"", "2 calls", "10 calls"}));
  const Cell& snapkv = tables[0].rows[1].cells.at(1);
  EXPECT_EQ(snapkv.score.n, 2);
  EXPECT_EQ(snapkv.score.mean, 0.5);
  EXPECT_EQ(group_title(tables[0]), "By group");
}

TEST_F(Groups, AreTablesFromTwoToSixty) {
  EXPECT_TRUE(group_tables(results_of({in_groups(1)}), 0).empty());
  EXPECT_EQ(group_tables(results_of({in_groups(2)}), 0).size(), 1u);
  EXPECT_EQ(group_tables(results_of({in_groups(60)}), 0).at(0).rows.size(), 60u);
  EXPECT_EQ(group_tables(results_of({in_groups(61)}), 0).at(0).rows.size(), 61u);
  const char* instead =
      "By group, 4K tokens: 61 groups, which 'longhaul report --format csv' lists.";
  EXPECT_TRUE(has(markdown_report(results_of({in_groups(61)})), {instead}));
  EXPECT_FALSE(has(markdown_report(results_of({in_groups(60)})), {"60 groups"}));
  const std::string none = markdown_report(results_of({{answer("dense", "1", 1)}}));
  EXPECT_EQ(none.find("By group"), std::string::npos);
}

TEST_F(Groups, AreSplitAtEachLengthByItself) {
  const std::vector<GroupTable> tables = group_tables(
      results_of({{grouped(answer("dense", "1", 1), "a"), grouped(answer("dense", "2", 0), "b"),
                   grouped(answer("dense", "1", 1, 8192), "a")}}),
      0);
  ASSERT_EQ(tables.size(), 1u) << "at 8,192 tokens there is one group";
  EXPECT_EQ(tables[0].length, 4096);
  EXPECT_EQ(tables[0].rows[0].cells.at(0).score.mean, 1);
  EXPECT_EQ(tables[0].rows[1].cells.at(0).score.mean, 0);
  EXPECT_EQ(group_title(tables[0]), "By group, 4K tokens");
}

TEST_F(Groups, LeaveOutControlsThatWereNotAnswered) {
  Record failed = grouped(answer("control:no-context", "1", 0), "a");
  failed.error = "no memory";
  const std::vector<GroupTable> tables =
      group_tables(results_of({{failed, grouped(answer("control:no-context", "2", 0), "b")}}), 0);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].rows[0].cells.at(0).score.n, 0);
  EXPECT_EQ(tables[0].rows[1].cells.at(0).score.n, 1);
}

TEST_F(Groups, StandInMarkdownUnderTheTaskWithIntervals) {
  // Wilson intervals: 2 of 2 from 34 %, 1 of 2 from 9 to 91 %, 0 of 2 to 66 %, 1 of 1 from 21 %.
  EXPECT_TRUE(has(markdown_report(results_of({calls()})),
                  {"By group:\n\n| group    |        dense |       snapkv |\n",
                   "| (none)   | 100 (21\xE2\x80\x93"
                   "100) | 100 (21\xE2\x80\x93"
                   "100) |\n"
                   "| 2 calls  | 100 (34\xE2\x80\x93"
                   "100) |    50 (9\xE2\x80\x93"
                   "91) |\n"
                   "| 10 calls | 100 (34\xE2\x80\x93"
                   "100) |     0 (0\xE2\x80\x93"
                   "66) |\n"}));
}

TEST_F(Groups, StandOnThePage) {
  std::vector<Record> records = calls();
  records.push_back(grouped(answer("control:no-context", "0", 0, 0, "calls"), "10 calls"));
  const std::string page = html_report(results_of({records}));
  EXPECT_EQ(XmlCheck::problem(page), "");
  EXPECT_TRUE(has(page, {"<b>By group</b>", "<th scope=\"row\">10 calls</th>",
                         "calls, 2 calls, own, snapkv:capacity=64: 50, 95 % interval 9 to 91, n 2",
                         "title=\"control:no-context\">control: no-context</th>",
                         "<td class=\"none\" title=\"not asked\">"}));
}

TEST_F(Groups, AreLinesOfTheCsvAndAListOfTheJson) {
  const Results& r = results_of({calls()});
  const std::string csv = csv_report(r);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 + 6);
  EXPECT_TRUE(
      has(csv, {",pairs_share,cut,group\n", ",1048576.0,1.0,0,\n", ",1048576.0,1.0,0,(none)\n",
                ",1048576.0,1.0,0,2 calls\n", ",262144.0,0.25,0,10 calls\n"}));
  const auto json = json_report(r);
  EXPECT_EQ(json["cells"].size(), 2u);
  ASSERT_EQ(json["groups"].size(), 6u);
  EXPECT_TRUE(json["groups"][0]["group"].is_null());
  EXPECT_EQ(json["groups"][3]["group"], "2 calls");
  EXPECT_EQ(json["groups"][3]["method"], "snapkv:capacity=64");
  EXPECT_EQ(json["groups"][3]["mean"], 0.5);
  EXPECT_EQ(json["groups"][3]["n"], 2);
}

TEST_F(Groups, NamesAreCutAndEscaped) {
  const Results& r = results_of({{grouped(answer("dense", "1", 1), "<b>|" + std::string(200, 'x')),
                                  grouped(answer("dense", "2", 1), std::string(300, '7'))}});
  const std::string page = html_report(r), text = markdown_report(r);
  EXPECT_EQ(XmlCheck::problem(page), "");
  EXPECT_TRUE(has(page, {"&lt;b&gt;|xxx"}));
  EXPECT_TRUE(has(text, {"&lt;b&gt;\\|xxx"}));
  EXPECT_EQ(text.find(std::string(61, '7')), std::string::npos);
}

}  // namespace
}  // namespace longhaul
