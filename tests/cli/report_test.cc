// longhaul report, end to end, on records written by the test.

#include <gtest/gtest.h>

#include "cli/program.h"
#include "report/run_maker.h"
#include "report/xml_check.h"

namespace longhaul {
namespace {

using testing_support::answer;
using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;
using testing_support::RunMaker;
using testing_support::small_run;
using testing_support::XmlCheck;

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ReportCommand : public ::testing::Test {
 protected:
  RunMaker maker_;
  const std::string run_ = maker_.make("run", small_run()).string();
};

TEST_F(ReportCommand, FormatFollowsTheFlagTheEndingAndTheTerminal) {
  const std::string page = (maker_.folder().path() / "report.html").string();
  const Outcome html = Program().run({"report", run_, "-o", page});
  ASSERT_EQ(html.status, 0) << html.err;
  EXPECT_TRUE(has(html.err, {"report.html"}));
  EXPECT_EQ(XmlCheck::problem(contents(page)), "");
  EXPECT_TRUE(has(Program().run({"report", run_}).out, {"# Evaluation of tiny", "| dense"}));
  EXPECT_TRUE(has(Program().run({"report", run_, "--format", "csv"}).out, {"run,task,opening"}));
  EXPECT_TRUE(has(Program().run({"report", run_, "--format", "html"}).out, {"<!DOCTYPE html>"}));
  EXPECT_EQ(Program().run({"report", run_, "--json"}).json()["cells"].size(), 6);
  EXPECT_TRUE(has(Program().run({"report", "--help"}).out, {"Example", "longhaul report"}));
}

TEST_F(ReportCommand, JsonGoesWhereItIsAskedFor) {
  const std::string file = (maker_.folder().path() / "report.json").string();
  const Outcome o = Program().run({"report", run_, "--json", "-o", file});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(contents(file), Program().run({"report", run_, "--json"}).out);
  ASSERT_EQ(Program().run({"report", run_, "--json", "--against", "dense", "-o", file}).status, 0);
  EXPECT_EQ(nlohmann::json::parse(contents(file))["what"], "All methods against dense");
  EXPECT_TRUE(refused(Program().run({"report", run_, "--json", "--format", "html"}),
                      {"--format html", "--json"}));
}

TEST_F(ReportCommand, PicturesAreFilesOfTheirOwn) {
  const auto folder = maker_.folder().path() / "pictures";
  ASSERT_EQ(Program().run({"report", run_, "--pictures", folder.string()}).status, 0);
  const std::string svg = contents(folder / "needle-snapkv.svg");
  EXPECT_EQ(XmlCheck::problem(svg), "");
  EXPECT_TRUE(has(svg, {"<svg", "http://www.w3.org/2000/svg"}));
}

TEST_F(ReportCommand, ComparesMethodsAndRuns) {
  EXPECT_TRUE(has(Program().run({"report", run_, "--against", "dense"}).out,
                  {"All methods against dense", "snapkv against dense"}));
  EXPECT_TRUE(
      has(Program().run({"report", run_, "--compare", "dense", "snapkv"}).out, {"McNemar"}));
  std::vector<Record> better = small_run();
  for (Record& r : better) r.score = r.method == "control:no-context" ? 0 : 1;
  better.pop_back();
  const std::string other = maker_.make("better", better).string();
  const Outcome o = Program().run({"report", "--compare", run_, other, "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto json = o.json();
  EXPECT_TRUE(has(json["notes"].dump(), {"59 pairs", "1 of a and 0 of b"}));
  bool found = false;
  for (const auto& d : json["differences"]) {
    if (d["method_b"] != "snapkv:capacity=64" || !d["length"].is_null()) continue;
    found = true;
    EXPECT_EQ(d["run_b"], "better");
    EXPECT_EQ(d["n"], 20);
    EXPECT_EQ(d["difference"], 0.25);
    EXPECT_EQ(d["p"], 0.0625);
  }
  EXPECT_TRUE(found);
}

TEST_F(ReportCommand, ComparesRunsOfOneMethodEach) {
  std::vector<Record> dense, duo;
  for (int i = 0; i < 3; ++i) {
    dense.push_back(answer("dense", std::to_string(i), 1));
    duo.push_back(answer("duo", std::to_string(i), 0));
  }
  const std::string a = maker_.make("only dense", dense).string();
  const std::string b = maker_.make("only duo", duo).string();
  const Outcome o = Program().run({"report", "--compare", a, b});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"3 pairs of answers", "duo against dense"}));
  EXPECT_TRUE(
      refused(Program().run({"report", "--compare", run_, b}),
              {"no method in common", "run has dense, snapkv:capacity=64;", "only duo has duo"}));
}

TEST_F(ReportCommand, RefusesInOneLine) {
  EXPECT_TRUE(refused(Program().run({"report"}), {"folder"}));
  EXPECT_TRUE(refused(Program().run({"report", "/nowhere"}), {"/nowhere", "no folder"}));
  EXPECT_TRUE(refused(Program().run({"report", run_, "-o", "x.pdf"}), {"x.pdf", ".html"}));
  EXPECT_TRUE(refused(Program().run({"report", run_, "--format", "pdf"}), {"html, md, csv"}));
  EXPECT_TRUE(refused(Program().run({"report", run_, run_}), {"given twice"}));
  EXPECT_TRUE(refused(Program().run({"report", run_, "--against", "infllm"}), {"infllm", "dense"}));
  EXPECT_TRUE(refused(Program().run({"report", "--compare", run_}), {"--compare"}));
  EXPECT_TRUE(
      refused(Program().run({"report", run_, "-o", "/nowhere/x.html"}), {"/nowhere/x.html"}));
  EXPECT_TRUE(
      refused(Program().run({"report", run_, "--compare", "dense", "snapkv", "-o", "x.csv"}),
              {"Markdown"}));
  const auto bad =
      maker_.make_raw("bad", to_json(answer("dense", "1", 1)) + "\n{\"task\":\"t\"}\n", "{}");
  EXPECT_TRUE(
      refused(Program().run({"report", bad.string()}), {"samples.jsonl line 2", "'length'"}));
}

TEST(EvalText, NamesRuleAndSource) {
  const Outcome o = Program().run(
      {"eval", "magic", "--attention", "dense", "--lengths", "300", "-n", "1", "--opening", "on"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"magic, opened (the number is in the reply)\n"
                          "from: RULER's sentence and question; public-domain books\n"}));
}

}  // namespace
}  // namespace longhaul
