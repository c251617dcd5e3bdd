// The other subcommands, end to end.

#include <gtest/gtest.h>

#include <sstream>

#include "cli/program.h"
#include "format/gguf_builder.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;

TEST(Commands, HelpShowsAnExample) {
  for (const char* command : {"run", "perplexity", "bench", "inspect", "tokenize", "methods",
                              "heads", "calibrate", "merge", "models", "pull"}) {
    const Outcome o = Program().run({command, "--help"});
    EXPECT_EQ(o.status, 0);
    EXPECT_TRUE(has(o.out, {"Example", std::string("longhaul ") + command})) << o.out;
  }
  EXPECT_TRUE(has(Program().run({"--help"}).out, {"run", "perplexity", "pull", "Example"}));
  EXPECT_TRUE(has(Program().run({}).out, {"Subcommands"}));
  EXPECT_TRUE(has(Program().run({"--version"}).out, {"longhaul 0."}));
}

TEST(Commands, HelpIsAlsoACommand) {
  EXPECT_EQ(Program().run({"help"}).out, Program().run({"--help"}).out);
  for (const char* command : {"run", "eval", "help"}) {
    const Outcome o = Program().run({"help", command});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out, Program().run({command, "--help"}).out);
  }
}

/// Names of the positional arguments that a help text lists.
std::vector<std::string> positional_names(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  std::string line;
  while (std::getline(lines, line) && line != "Positionals:") {
  }
  while (std::getline(lines, line) && !line.empty()) {
    std::string name;
    if (line.starts_with("  ") && line[2] != ' ' && std::istringstream(line) >> name) {
      names.push_back(name);
    }
  }
  return names;
}

// CLI11 2.4 refuses a flag with the name of a positional argument, whatever command is run.
TEST(Commands, NoFlagHasTheNameOfAPositionalArgument) {
  size_t seen = 0;
  for (const char* command : {"advise", "calibrate", "eval", "help", "inspect", "merge", "methods",
                              "perplexity", "pull", "report", "reproduce", "run", "tokenize"}) {
    const std::string help = Program().run({command, "--help"}).out;
    for (const std::string& name : positional_names(help)) {
      ++seen;
      EXPECT_EQ(help.find(" --" + name + " "), std::string::npos) << command;
      EXPECT_EQ(help.find(",--" + name + " "), std::string::npos) << command;
    }
  }
  EXPECT_GE(seen, 13);
}

TEST(Commands, BenchTellsWhatItMeasuresUnlessItIsToBeQuiet) {
  Program::Arguments bench{"bench",    "--prompt", "1100",    "--gen", "0",
                           "--repeat", "1",        "--depth", "0",     "--no-machine"};
  Outcome o = Program().run(bench);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.err, "dense: prefill of 1,100 tokens ...\n");
  bench.emplace_back("-q");
  o = Program().run(bench);
  EXPECT_TRUE(has(o.out, {"prefill", "1,100"}));
  EXPECT_EQ(o.err, "");
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
  if (!dense.contains("peak_rss_bytes")) {  // the system cannot reset the peak counter
    EXPECT_TRUE(has(table.out, {"peak memory: ", "cannot reset it"}));
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

TEST(Commands, ShowStartsWithContextAdapterAndLicence) {
  Program program;
  const std::filesystem::path folder = program.folder().path();
  program.set_environment("LONGHAUL_MODELS", folder);
  program.folder().write("smollm2.gguf", testing_support::GgufBuilder()
                                             .text("general.architecture", "nothing-known")
                                             .text("general.license", "mit\nsecond line")
                                             .build());
  std::filesystem::copy(LONGHAUL_MODELS "/smollm2-32k", folder / "smollm2-32k");
  const std::string text = program.run({"show", "smollm2-32k"}).out;
  EXPECT_TRUE(has(text, {"cannot be run", "nothing-known", "smollm2-32k-lora-q8_0.gguf",
                         R"('mit\x0asecond line')"}));
  EXPECT_EQ(program.run({"show", "smollm2-32k", "--json"}).json()["summary"]["context"], 32768);
  const std::string nano = program.run({"show", LONGHAUL_MODELS "/nano"}).out;
  EXPECT_TRUE(has(nano, {"family", "llama", "8,192 tokens"}));
  EXPECT_LT(nano.find("8,192 tokens"), nano.find("BF16"));
}

TEST(Commands, InspectListsWhatIsNotReadable) {
  constexpr uint32_t kF32 = 0, kI32 = 26;  // ggml's numbers
  Program program;
  const auto file = program.folder().write("odd.gguf", testing_support::GgufBuilder()
                                                           .tensor("a", {3}, kF32, 12)
                                                           .tensor("ids", {4}, kI32, 16)
                                                           .build());
  EXPECT_TRUE(has(program.run({"inspect", file}).out, {"not readable: ids ", "I32"}));
  for (const Program::Arguments& more : {Program::Arguments{}, {"--brief"}}) {
    Program::Arguments inspect{"inspect", file, "--json"};
    inspect.insert(inspect.end(), more.begin(), more.end());
    const auto json = program.run(inspect).json();
    ASSERT_EQ(json["unreadable"].size(), 1u);
    EXPECT_EQ(json["unreadable"][0]["name"], "ids");
    EXPECT_TRUE(has(json["unreadable"][0]["reason"].get<std::string>(), {"I32"}));
  }
  EXPECT_TRUE(program.run({"inspect", "nano", "--json"}).json()["unreadable"].empty());
}

TEST(Commands, TokenizeGivesIdsAndPieces) {
  const auto json = Program().run({"tokenize", "Hello, world", "--json"}).json();
  std::string joined;
  for (const auto& piece : json["pieces"]) joined += piece.get<std::string>();
  EXPECT_EQ(joined, "Hello, world");
  EXPECT_EQ(json["ids"].size(), json["count"].get<size_t>());
  EXPECT_EQ(Program().run({"tokenize", "", "--count"}).out, "0\n") << "an empty text is a text";
  EXPECT_EQ(Program().run({"tokenize", "-", "--count"}, "a b").out, "2\n");
  EXPECT_EQ(Program().run({"tokenize", "--count"}, "a b").out, "2\n") << "what is piped in";
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

}  // namespace
}  // namespace longhaul
