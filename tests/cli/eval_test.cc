// longhaul eval, end to end on the embedded model.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

TEST(Eval, ListsTasksWithRuleAndSource) {
  const Outcome o = Program().run({"eval", "--list"});
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"passkey\n", "score: ", "from: ", "jsonl FILE"}));
  EXPECT_TRUE(has(Program().run({"eval", "--help"}).out, {"Example", "--opening", "--controls"}));
}

TEST(Eval, ManyOptionsStandBelowTheTable) {
  const std::string method = "infllm:block=8,cached=9,chunk=64,n_init=4,n_local=100,topk=8";
  const Outcome o = Program().run(
      {"eval", "magic", "--lengths", "300", "-n", "1", "--attention", "dense," + method});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"  infllm [1] ", "\n\n[1] " + method + "\n"}));
  for (std::string_view rest = o.out; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1);
    EXPECT_LE(end, 100u) << rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
}

TEST(Eval, TellsScoreIntervalAndCosts) {
  Program program;
  const std::string out = program.folder().path() / "run";
  const std::vector<std::string> arguments{"eval",        "passkey,magic",
                                           "--attention", "dense,streamingllm:recent=64",
                                           "--lengths",   "300",
                                           "-n",          "2",
                                           "--out",       out};
  const Outcome o = program.run(arguments);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.out, {"passkey", "magic", "first token", "100.0 %", "streamingllm:recent=64"}));
  EXPECT_TRUE(has(o.err, {"16 answers", "records in " + out}));
  std::vector<std::string> with_json = arguments;
  with_json.emplace_back("--json");
  const Outcome again = program.run(with_json);
  ASSERT_EQ(again.status, 0) << again.err;
  const auto json = again.json();
  EXPECT_EQ(json["answers"], 16);
  EXPECT_EQ(json["finished"], true);
  EXPECT_EQ(json["engine_seconds"], 0);  // all answers existed
  std::ifstream in(std::filesystem::path(out) / "run.json");
  const auto info = nlohmann::json::parse(in);
  ASSERT_EQ(info["commands"].size(), 2u) << "both runs";
  EXPECT_EQ(info["commands"][1].get<std::string>(),
            info["commands"][0].get<std::string>() + " --json");
  EXPECT_EQ(info["command"], info["commands"][1]);
  EXPECT_FALSE(info["conditions"].contains("build"));
  ASSERT_EQ(json["cells"].size(), 8u);
  for (const auto& cell : json["cells"]) {
    EXPECT_EQ(cell["n"], 2);
    if (cell["method"] == "dense") {
      EXPECT_EQ(cell["mean"], 1);
    }
  }
}

TEST(Eval, AsksTheUsersOwnCases) {
  Program program;
  const auto file = program.folder().write(
      "cases.jsonl",
      R"({"id":1,"context":"The pass key is 58213. Remember it. 58213 is the pass key.","question":"What is the pass key?","answers":["58213"]})"
      "\n"
      R"({"id":2,"context":"The pass key is 777. Remember it. 777 is the pass key.","question":"What is the pass key?","answers":["111"],"match":"exact"})"
      "\n");
  const Outcome o = program.run({"eval", "jsonl", file, "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto json = o.json();
  ASSERT_EQ(json["cells"].size(), 1u);
  EXPECT_EQ(json["cells"][0]["task"], "jsonl:cases");
  EXPECT_EQ(json["cells"][0]["mean"], 0.5);
}

TEST(Eval, AsksAsRunDoes) {
  Program program;
  std::string text;
  for (int i = 0; i < 30; ++i) text += "The harbour was quiet and boat " + std::to_string(i) + ". ";
  const std::string question = "Which boat was quiet?";
  const auto document = program.folder().write("document.txt", text);
  const nlohmann::json with{{"id", "with"},     {"context", text},  {"question", question},
                            {"answers", {"x"}}, {"max_tokens", 12}, {"system", "Be brief."}};
  const nlohmann::json without{
      {"id", "without"}, {"prompt", question}, {"answers", {"x"}}, {"max_tokens", 12}};
  const auto cases = program.folder().write("cases.jsonl", with.dump() + "\n" + without.dump());
  // citrus reads with the question, so its replies depend on where the question begins.
  for (const char* method : {"dense", "citrus:k=32,chunk=32,sink=4"}) {
    const std::string out = program.folder().path() / std::string_view(method).substr(0, 6);
    const Outcome evaluated = program.run(
        {"eval", "jsonl", cases, "--attention", method, "--opening", "off", "--out", out, "-q"});
    ASSERT_EQ(evaluated.status, 0) << evaluated.err;
    std::map<std::string, nlohmann::json> records;
    std::ifstream in(out + "/samples.jsonl");
    for (std::string line; std::getline(in, line);) {
      const auto record = nlohmann::json::parse(line);
      records[record["id"]] = record;
    }
    const Outcome read = program.run({"run", "--attention", method, "-f", document, "--system",
                                      "Be brief.", "-p", question, "-n", "12", "--json"});
    const Outcome asked =
        program.run({"run", "--attention", method, "-p", question, "-n", "12", "--json"});
    for (const auto& [id, o] : {std::pair("with", &read), std::pair("without", &asked)}) {
      ASSERT_EQ(o->status, 0) << o->err;
      const auto json = o->json();
      EXPECT_EQ(records[id].value("error", ""), "") << method << " " << id;
      EXPECT_EQ(records[id]["reply"], json["text"]) << method << " " << id;
      EXPECT_EQ(records[id]["prompt_tokens"], json["prompt_tokens"]) << method << " " << id;
      EXPECT_EQ(records[id]["pairs_share"], json["pairs_share"]) << method << " " << id;
    }
    EXPECT_EQ(records["with"]["pairs_share"] == 1.0, std::string(method) == "dense");
  }
}

/// A text of some 500 tokens and one question, in L-Eval's form.
std::string write_leval(const Program& program) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "The harbour was quiet and boat " + std::to_string(i) + ". ";
  const nlohmann::json line{
      {"instructions", {"Which boat?\n(A) 1\n(B) 2"}}, {"outputs", {"A"}}, {"input", text}};
  const std::filesystem::path data = program.folder().path() / "data";
  std::filesystem::create_directories(data / "leval");
  std::ofstream(data / "leval/tpo.jsonl") << line.dump() << "\n";
  return data;
}

TEST(Eval, TellsWhichTextsWereCut) {
  Program program;
  const std::string data = write_leval(program);
  const auto record_of = [&](const char* out, const std::vector<std::string>& lengths) {
    const auto folder = program.folder().path() / out;
    std::vector<std::string> arguments{"eval", "leval/tpo", "--data", data,        "-n",
                                       "1",    "--out",     folder,   "--opening", "on"};
    arguments.insert(arguments.end(), lengths.begin(), lengths.end());
    const Outcome o = program.run(arguments);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(has(o.err, {"--opening on: no opened form, so asked without: leval/tpo"})) << o.err;
    EXPECT_EQ(o.out.find("cut: ") != std::string::npos, !lengths.empty()) << o.out;
    if (!lengths.empty()) {
      EXPECT_TRUE(has(o.out, {"cut: 1 of 1 samples was cut to 300 tokens, reply included"}));
    }
    std::ifstream in(folder / "samples.jsonl");
    return nlohmann::json::parse(in);
  };
  const auto whole = record_of("whole", {});
  EXPECT_FALSE(whole.contains("cut_tokens"));
  const auto cut = record_of("cut", {"--lengths", "300"});
  EXPECT_LE(cut["prompt_tokens"], 300);
  EXPECT_EQ(cut["cut_to"], 300);
  EXPECT_EQ(cut["cut_tokens"].get<int>() + cut["prompt_tokens"].get<int>(),
            whole["prompt_tokens"].get<int>());
}

TEST(Eval, RefusesBeforeTheRun) {
  Program program;
  const std::string out = program.folder().path() / "run";
  const auto bad = program.folder().write(
      "bad.jsonl", "{\"id\":1,\"prompt\":\"p\",\"answers\":[\"x\"]}\n{\"id\":2}\n");
  EXPECT_TRUE(refused(program.run({"eval", "jsonl", bad, "--out", out}),
                      {"bad.jsonl line 2: ", "needs one of 'prompt'"}));
  EXPECT_TRUE(refused(program.run({"eval", "pasckey", "--out", out}), {"did you mean 'passkey'"}));
  EXPECT_TRUE(refused(program.run({"eval", "--out", out}), {"no task", "--list"}));
  EXPECT_TRUE(refused(program.run({"eval", "jsonl"}), {"file is missing"}));
  EXPECT_TRUE(refused(program.run({"eval", "passkey", "--attention", "dense,dense"}),
                      {"--attention", "given twice"}));
  EXPECT_TRUE(refused(
      program.run({"eval", "passkey", "--attention", "dense,snapkv:capacity=10", "--out", out}),
      {"--attention snapkv", "capacity=10", "window="}));
  EXPECT_TRUE(refused(program.run({"eval", "passkey", "--lengths", "80", "--out", out}),
                      {"--lengths 80", "too short"}));
  EXPECT_TRUE(
      refused(program.run({"eval", "passkey", "-t", "1", "--parallel", "2"}), {"--parallel 2"}));
  EXPECT_TRUE(refused(program.run({"eval", "passkey", "--inject-evidence", "--out", out}),
                      {"--inject-evidence", "infllm"}));
  EXPECT_TRUE(refused(program.run({"eval", "passkey", "--data", "/nowhere"}), {"--data /nowhere"}));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Eval, AKilledRunGoesOn) {
  Program program;
  const auto out = program.folder().path() / "run";
  const std::vector<std::string> arguments{"eval", "passkey", "--lengths", "300",
                                           "-n",   "20",      "--out",     out};
  const auto keys = [&] {
    std::multiset<std::string> all;
    std::ifstream in(out / "samples.jsonl");
    for (std::string line; std::getline(in, line);) {
      const auto r = nlohmann::json::parse(line, nullptr, false);
      if (r.is_object()) all.insert(r["id"].get<std::string>() + (r["opening"] ? "+" : "-"));
    }
    return all;
  };
  program.run_and_interrupt(
      arguments, [&] { return keys().size() >= 3; }, SIGKILL);
  const size_t before = keys().size();
  EXPECT_GE(before, 3u);
  EXPECT_LT(before, 40u);
  EXPECT_EQ(program.run(arguments).status, 0);
  const std::multiset<std::string> all = keys();
  EXPECT_EQ(all.size(), 40u);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 40u) << "none twice";
}

TEST(Eval, InterruptedRunGoesOn) {
  Program program;
  const auto out = program.folder().path() / "run";
  const std::vector<std::string> arguments{"eval", "passkey", "--lengths", "300",
                                           "-n",   "40",      "--out",     out};
  const auto lines = [&] {
    std::ifstream in(out / "samples.jsonl");
    return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
  };
  const Outcome stopped = program.run_and_interrupt(arguments, [&] { return lines() >= 3; });
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_TRUE(has(stopped.err, {"continues from here"}));
  const auto before = lines();
  EXPECT_GE(before, 3);
  EXPECT_LT(before, 80);
  const Outcome rest = program.run(arguments);
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_TRUE(has(rest.err, {std::to_string(80 - before) + " answers",
                             std::to_string(before) + " were there"}));
  EXPECT_EQ(lines(), 80);
  EXPECT_TRUE(
      refused(program.run({"eval", "passkey", "--lengths", "300", "--seed", "2", "--out", out}),
              {"seed 1", "--out"}));
}

}  // namespace
}  // namespace longhaul
