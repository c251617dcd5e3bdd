// longhaul bench with several methods: a refusal of one is reported before any is measured.

#include <gtest/gtest.h>

#include <map>

#include "attention/registry.h"
#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

/// Checks for one line on standard error and no table, which shows that nothing was measured.
TEST(Bench, RefusesAnyBadMethodBeforeTheFirstIsMeasured) {
  Program program;
  const std::string gates = program.folder().write("g.tsv", "1 1\n").string();
  const struct {
    std::string method;
    std::string part, other_part;             ///< parts of the error line
    std::vector<std::string> arguments = {};  ///< further arguments
  } cases[] = {
      {"ltri:heads=99.0", "--attention ltri: heads: 99.0", "layers 0 to 11"},
      {"snapkv:capacity=20", "--attention snapkv: capacity=20", "window=32"},
      {"duo:gates=" + gates, "--attention duo: gates=", "g.tsv: line 1 has 2 columns"},
      {"duo:gates=", "--attention duo", "needs gates"},
      {"minference:patterns=/no/such", "--attention minference: patterns=/no/such", "No such file"},
      {"xattention:thresholds=/no/such", "--attention xattention: thresholds=/no/such", "No such"},
      // Refused only beyond the trained length, which the longest prompt or depth exceeds.
      {"reattention:local=16384", "--attention reattention", "8192", {"--depth", "0,9000"}},
      {"reattention:local=16384", "--attention reattention", "8192", {"--prompt", "9000,64"}},
  };
  for (const auto& c : cases) {
    Program::Arguments bench{"bench", "--attention", "dense," + c.method, "--gen", "1"};
    bench.insert(bench.end(), {"--prompt", "64", "--depth", "0", "--repeat", "1", "--no-machine"});
    // The last value of a flag counts.
    bench.insert(bench.end(), c.arguments.begin(), c.arguments.end());
    EXPECT_TRUE(refused(program.run(bench), {c.part, c.other_part})) << c.method;
  }
}

TEST(Bench, RefusesBadNumbersOfSessions) {
  const struct {
    std::vector<std::string> arguments;
    std::string part, other_part;
  } cases[] = {
      {{"--sessions", "0"}, "--sessions", "0"},
      {{"--sessions", "-1"}, "--sessions", "-1"},
      {{"--sessions", "two"}, "--sessions", "two"},
      {{"--sessions", "1,,2"}, "--sessions", ""},
      {{"--sessions", "1048576"}, "--sessions 1048576", "at most"},
      {{"--sessions", "2", "--mix", "dense,du"}, "du", "duo"},
      {{"--sessions", "2", "--prompt", "64"}, "--prompt", "--depth"},
      {{"--sessions", "2", "--gen", "0"}, "--gen 0", "--sessions"},
      {{"--mix", "dense"}, "--mix", "--sessions"},
      {{"--check"}, "--check", "--sessions"},
  };
  for (const auto& c : cases) {
    Program::Arguments bench{"bench", "--no-machine"};
    bench.insert(bench.end(), c.arguments.begin(), c.arguments.end());
    EXPECT_TRUE(refused(Program().run(bench), {c.part, c.other_part})) << c.arguments.back();
  }
}

TEST(Bench, DecodesSessionsTogetherAndChecksThatTheyAreAsAlone) {
  const Outcome o = Program().run({"bench", "--sessions", "1,3,9", "--depth", "40", "--gen", "3",
                                   "--mix", "dense,h2o:budget=20,stride=8,tova:capacity=24",
                                   "--repeat", "1", "--check", "--no-machine", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto results = o.json().at("results");
  ASSERT_EQ(results.size(), 3u);
  for (const auto& result : results) {
    EXPECT_EQ(result["test"], "batch");
    EXPECT_EQ(result["bit_identical_sessions"], result["sessions"]);
    EXPECT_GT(result["tokens_per_second"]["median"].get<double>(), 0);
  }
}

TEST(Bench, MeasuresEveryMethodOfTheRegistry) {
  std::string all;
  for (const MethodInfo& method : attention_methods()) {
    all += fmt::format("{}{}", all.empty() ? "" : ",", method.name);
  }
  const Outcome o = Program().run({"bench", "--attention", all, "--prompt", "64", "--gen", "2",
                                   "--depth", "64", "--repeat", "1", "--no-machine", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  std::map<std::string, int> rows;  // rows per method: prefill and decode
  const auto printed = o.json();
  for (const auto& result : printed.at("results")) {
    const std::string method = result["attention"];
    SCOPED_TRACE(method);
    rows[method.substr(0, method.find(':'))] += 1;  // ltri also has its form in its name
    const auto& rate = result["tokens_per_second"]["median"];
    ASSERT_TRUE(rate.is_number());  // infinite values are null in JSON
    EXPECT_GT(rate.get<double>(), 0);
    EXPECT_GT(result["kv_bytes"].get<int64_t>(), 0);
  }
  EXPECT_EQ(rows.size(), attention_methods().size());
  for (const MethodInfo& method : attention_methods()) {
    EXPECT_EQ(rows[std::string(method.name)], 2) << method.name;
  }
}

}  // namespace
}  // namespace longhaul
