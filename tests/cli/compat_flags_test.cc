// Flags that users of llama.cpp and ollama type.

#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/texts.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kNumberQuestion;
using testing_support::kPassKeyQuestion;
using testing_support::long_text;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

constexpr const char* kReply = "The pass key is 58213.\n";

TEST(CompatFlags, FlagsOfLlamaCppDoWhatTheyDidThere) {
  const Outcome o = Program().run({"run",
                                   "-q",
                                   "-p",
                                   kPassKeyQuestion,
                                   "--ctx-size",
                                   "500",
                                   "--n-predict",
                                   "40",
                                   "--temperature",
                                   "0",
                                   "--seed",
                                   "-1",
                                   "--cache-type-k",
                                   "q8_0",
                                   "-ctv",
                                   "q8_0",
                                   "-ub",
                                   "64",
                                   "--repeat-last-n",
                                   "8",
                                   "--no-display-prompt"});
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out, kReply);
  EXPECT_EQ(o.err, "");
  const auto json = Program()
                        .run({"run", "--json", "-p", kPassKeyQuestion, "--n-predict=2",
                              "--cache-type-k=f16", "--cache-type-v=q8_0"})
                        .json();
  EXPECT_EQ(json["tokens"].size(), 2u);
  EXPECT_EQ(json["kv_type"], "k=F16,v=Q8_0");
}

TEST(CompatFlags, WhatMeansNothingHereIsTakenWithANote) {
  const Outcome o = Program().run(
      {"run", "-q", "-p", kPassKeyQuestion, "-ngl", "99", "-fa", "on", "-b", "2048", "--mlock"});
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out, kReply);
  EXPECT_TRUE(has(o.err, {"note: -ngl: layers", "note: -fa: ", "note: -b: ", "note: --mlock: "}));
  const Outcome ollama = Program().run(
      {"run", "nano", kPassKeyQuestion, "-q", "--verbose", "--keepalive", "5m", "--nowordwrap"});
  EXPECT_EQ(ollama.out, kReply);
  EXPECT_TRUE(has(ollama.err, {"note: --verbose: ", "note: --keepalive: "}));
  // A parser could read these as -n with a value.
  const Outcome placed = Program().run(
      {"run", "-q", "-p", kPassKeyQuestion, "-np", "2", "-nkvo", "-fit", "on", "-kvu"});
  EXPECT_EQ(placed.out, kReply) << placed.err;
  EXPECT_TRUE(has(placed.err, {"note: -np: ", "note: -nkvo: ", "note: -fit: ", "note: -kvu: "}));
  const Outcome more = Program().run({"run", "-q", "-p", kPassKeyQuestion, "-e", "-cb", "--color",
                                      "on", "-C", "0", "-ot", "exps=CPU"});
  EXPECT_EQ(more.out, kReply) << more.err;
  EXPECT_TRUE(has(more.err, {"note: -e: ", "note: -cb: ", "note: -C: ", "note: -ot: "}));
  EXPECT_EQ(Program().run({"inspect", "-m", "nano"}).out, Program().run({"inspect", "nano"}).out);
  EXPECT_EQ(Program().run({"version"}).out, Program().run({"--version"}).out);
  const Outcome bare = Program().run({"run", "-q", "-fa", "-p", kPassKeyQuestion});
  EXPECT_EQ(bare.out, kReply) << "the switch's value may be left out: " << bare.err;
}

TEST(CompatFlags, WhatIsDoneByAnotherFlagIsRefusedWithThatFlag) {
  const auto refuses = [](Program::Arguments arguments, std::string_view part) {
    EXPECT_TRUE(refused(Program().run(arguments), {arguments[1], part}));
  };
  refuses({"run", "--hf-file", "gemma.gguf", "-p", "x"}, "-hf OWNER/REPO:FILE");
  refuses({"run", "--lora-scaled", "a.gguf", "0.5", "-p", "x"}, "--lora FILE:SCALE");
  refuses({"run", "--prompt-cache", "file", "-p", "x"}, "--save FILE");
  refuses({"run", "--rope-scaling", "yarn"}, "--attention ntk");
  refuses({"run", "--context-shift"}, "streamingllm");
  refuses({"run", "--in-prefix", " ", "-p", "x"}, "--raw");
  refuses({"run", "--override-kv", "a=int:1"}, "metadata");
  refuses({"bench", "-pg", "512,64"}, "--depth N");
  refuses({"bench", "-o", "csv"}, "--json");
  refuses({"run", "--ctx-size"}, "value is missing");
  refuses({"run", "--port", "8080"}, "longhaul serve");
  refuses({"run", "-sysf", "system.txt"}, "--system");
  refuses({"run", "-md", "small.gguf"}, "draft models");
  refuses({"run", "--logit-bias", "5+1"}, "--temp");
  refuses({"run", "--list-devices"}, "longhaul devices");
  refuses({"inspect", "-hf", "a/b"}, "hf:OWNER/REPO");
}

TEST(CompatFlags, ServeKnowsTheFlagsOfLlamaServer) {
  const auto refuses = [](Program::Arguments arguments, std::string_view part) {
    arguments.insert(arguments.begin(), {"serve", "-m", "nano"});
    EXPECT_TRUE(refused(Program().run(arguments), {arguments[3], part}));
  };
  refuses({"--port", "8080"}, "--listen ADDRESS:PORT");
  refuses({"--host", "0.0.0.0"}, "--listen ADDRESS:PORT");
  refuses({"--api-key", "secret"}, "--api-key-file FILE");
  refuses({"--slot-save-path", "."}, "--cache-dir FOLDER");
  refuses({"--embedding"}, "embeddings");
  // The others are read; the address, which comes last, is refused.
  const Outcome others =
      Program().run({"serve",      "-m",   "nano",    "-ngl",    "99",       "-fa",  "-np", "4",
                     "--ctx-size", "4096", "--jinja", "-cb",     "-ctk",     "q8_0", "-a",  "name",
                     "--no-webui", "-to",  "60",      "--mlock", "--listen", "x"});
  EXPECT_TRUE(has(others.err, {"note: -ngl", "note: -fa", "error: --listen 'x'"})) << others.err;
}

TEST(CompatFlags, NoHelpInsteadOfAnError) {
  for (const char* flag : {"-hx", "-hello", "-h=1"}) {
    EXPECT_TRUE(refused(Program().run({"run", flag}), {"unknown flag", "longhaul run --help"}));
  }
  for (const char* flag : {"-cx", "-to5", "-nn"}) {  // these are not numbers of -c, -t and -n
    EXPECT_TRUE(refused(Program().run({"run", flag}), {"unknown flag", flag}));
  }
  EXPECT_TRUE(refused(Program().run({"pull", "-hf", "x"}), {"unknown flag"}));
  EXPECT_TRUE(refused(Program().run({"-m", "nano"}), {"unknown flag '-m'", "longhaul run -m"}));
  EXPECT_TRUE(refused(Program().run({"-hf", "a/b"}), {"-hf", "longhaul run"}));
  EXPECT_EQ(Program().run({"run", "-h"}).status, 0);
}

TEST(CompatFlags, ValuesAreNoFlags) {
  const auto tokens = [](const char* question) {
    return Program().run({"run", "--json", "-n", "0", "-p", question}).json()["prompt_tokens"];
  };
  EXPECT_GT(tokens("-ngl").get<int>(), 5) << "a question that looks like a flag is one";
}

TEST(CompatFlags, CommandsOfOllama) {
  EXPECT_TRUE(has(Program().run({"list"}).out, {"nano", "Names are looked up in"}));
  const Outcome ps = Program().run({"ps"});
  EXPECT_EQ(ps.status, 0);
  EXPECT_TRUE(has(ps.err, {"note: ps: no model stays loaded"}));
  EXPECT_EQ(Program().run({"show", "nano"}).out, Program().run({"inspect", "nano", "--brief"}).out);
  EXPECT_TRUE(refused(Program().run({"server"}), {"longhaul serve"}));
  EXPECT_TRUE(refused(Program().run({"quantize", "a", "b", "Q4_0"}), {"longhaul pull"}));
  EXPECT_EQ(Program().run({"run", "nano", kPassKeyQuestion, "-q"}).out, kReply);
  EXPECT_EQ(Program()
                .run({"run", "-q", "nano", "The pass key is 58213. Remember it.",
                      "58213 is the pass key. What is the pass key?"})
                .out,
            kReply);
  EXPECT_TRUE(refused(Program().run({"run", "nano", "a", "-p", "b"}), {"'nano'", "by -p"}));
  EXPECT_TRUE(
      refused(Program().run({"run", "-m", "nano", "b.txt"}), {"'b.txt'", "-f before each"}));
}

TEST(CompatFlags, PerplexityAndBenchTakeTheNamesOfLlamaCpp) {
  Program program;
  const std::string file = program.folder().write("text.txt", long_text().substr(0, 2000));
  EXPECT_TRUE(has(program.run({"perplexity", "-f", file, "-c", "128"}).out, {"perplexity"}));
  const auto rows = [&](Program::Arguments more) {
    more.insert(more.begin(), {"bench", "-r", "1", "--no-machine", "-o", "json"});
    std::string all;
    const Outcome o = program.run(more);
    const auto printed = o.json();
    for (const auto& row : printed.at("results")) {
      const bool prefill = row["test"] == "prefill";
      all +=
          fmt::format("{}{} ", prefill ? "p" : "d", row[prefill ? "prompt" : "depth"].get<int>());
    }
    return all;
  };
  EXPECT_EQ(rows({"-p", "64,32"}), "p64 p32 ") << "only what was asked";
  EXPECT_EQ(rows({"-n", "2"}), "d0 ");
  EXPECT_EQ(rows({"-p", "0", "-n", "2", "-d", "16"}), "d16 ");
  EXPECT_EQ(rows({"-p", "32", "-n", "2"}), "p32 d0 ");
  EXPECT_TRUE(refused(program.run({"bench", "-n", "0"}), {"--gen 0", "--prompt"}));
}

TEST(CompatFlags, PipedTextIsTheDocumentAndTheReportSaysSo) {
  const Outcome o = Program().run({"run", "-p", kNumberQuestion}, long_text());
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"4827163"}));
  EXPECT_TRUE(has(o.err, {"text ", "standard input, 5,"}));
  const auto json = Program().run({"run", "--json", "-n", "0", "-p", "x"}, "A text.").json();
  EXPECT_EQ(json["texts"][0]["name"], "standard input");
  EXPECT_EQ(json["texts"][0]["bytes"], 7);
  // With files, standard input is not read: a surrounding loop may need it.
  Program program;
  const std::string file = program.folder().write("a.txt", "Another text.");
  const auto beside = program.run({"run", "--json", "-n", "0", "-f", file, "-p", "x"}, "A text.");
  EXPECT_EQ(beside.json()["texts"].size(), 1u);
}

TEST(CompatFlags, LoadAloneIsAboutTheTextInTheFile) {
  Program program;
  const std::string file = program.folder().write("text.txt", long_text());
  const std::string session = program.folder().path() / "text.session";
  ASSERT_EQ(program.run({"run", "-f", file, "-n", "0", "--save", session}).status, 0);
  const Outcome o = program.run({"run", "--load", session, "-p", kNumberQuestion});
  EXPECT_TRUE(has(o.out, {"4827163"}));
  EXPECT_TRUE(has(o.err, {"text.txt", "session file", "reused"}));
  EXPECT_EQ(o.err.find("warning"), std::string::npos) << o.err;
  const Outcome chat = program.run({"run", "-i", "--load", session},
                                   std::string(kNumberQuestion) + "\n/bye\nHello\n");
  EXPECT_TRUE(has(chat.out, {"4827163"}));
  EXPECT_TRUE(refused(program.run({"run", "--load", session, "--system", "Be brief.", "-p", "x"}),
                      {"--load", "another template or --system"}));
}

TEST(CompatFlags, ASessionSavedWithAQuestionServesItAndOthers) {
  Program program;
  const std::string file = program.folder().write("text.txt", long_text());
  const std::string session = program.folder().path() / "asked.session";
  ASSERT_EQ(program.run({"run", "-f", file, "-p", "Where is it wet?", "-n", "0", "--save", session})
                .status,
            0);
  const auto same = program.run({"run", "--json", "--load", session, "-n", "1"}).json();
  EXPECT_EQ(same["reused_tokens"], same["prompt_tokens"]);
  const Outcome other = program.run({"run", "--load", session, "-p", kNumberQuestion});
  EXPECT_TRUE(has(other.out, {"4827163"}));
}

TEST(CompatFlags, LoadedBareTextGoesOn) {
  Program program;
  const std::string session = program.folder().path() / "raw.session";
  ASSERT_EQ(program
                .run({"run", "--raw", "-p", "The pass key is 58213. The pass", "-n", "0", "--save",
                      session})
                .status,
            0);
  const auto json =
      program.run({"run", "--raw", "--load", session, "-p", " key", "--json", "-n", "1"}).json();
  EXPECT_EQ(json["prefill_tokens"], 1);
  EXPECT_EQ(json["read_tokens"], json["prefill_tokens"]) << "the name of older versions";
  EXPECT_EQ(json["loaded_tokens"].get<int>() + 1, json["prompt_tokens"]);
}

TEST(CompatFlags, QuotesHoldAMessageOfSeveralLines) {
  const std::string lines =
      "\"\"\"The pass key is 58213. Remember it.\n\n58213 is the pass key.\n"
      "What is the pass key?\"\"\"\n/bye\n";
  const Outcome o = Program().run({"run", "-i"}, lines);
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"The pass key is 58213."}));
  constexpr std::string_view kTurn = " tokens prefilled, ";
  EXPECT_NE(o.err.find(kTurn), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find(kTurn), o.err.rfind(kTurn)) << "one turn: " << o.err;
  const Outcome open = Program().run({"run", "-i", "-n", "0"}, "\"\"\"a\nb");
  EXPECT_TRUE(has(open.err, {" tokens prefilled"}));
}

TEST(CompatFlags, AGreedyLoopIsStoppedAndSaidSo) {
  const Program::Arguments go_on{"run", "--raw", "-n", "200", "-p", "Count."};
  const Outcome o = Program().run(go_on);
  EXPECT_TRUE(has(o.err, {"warning: the reply repeats its last ", "--loops", "loop"}));
  Program::Arguments let = go_on;
  let.insert(let.end(), {"--loops", "--json"});
  const auto json = Program().run(let).json();
  EXPECT_EQ(json["stop_reason"], "max_tokens");
  EXPECT_EQ(json["tokens"].size(), 200u);
}

TEST(CompatFlags, AChatIsDrawnAsTheModelsMakersWant) {
  namespace fs = std::filesystem;
  Program program;
  const fs::path model = program.folder().path() / "drawn";
  fs::create_directory(model);
  for (const auto& entry : fs::directory_iterator(fs::path(LONGHAUL_MODELS) / "nano")) {
    fs::create_symlink(entry.path(), model / entry.path().filename());
  }
  fs::remove(model / "generation_config.json");
  std::ofstream(model / "generation_config.json")
      << R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9, "eos_token_id": 2})";
  const auto chat = [&](Program::Arguments more) {
    more.insert(more.begin(), {"run", "-i", "-m", model.string(), "-n", "2"});
    return program.run(more, "Hello\n").err;
  };
  EXPECT_TRUE(has(
      chat({}), {"generation_config.json says: temperature 0.6, top-k 50, top-p 0.9", ", seed "}));
  EXPECT_TRUE(has(chat({"--top-k", "7"}), {"top-k 7"}));
  EXPECT_EQ(chat({"--temp", "0"}).find("seed"), std::string::npos);
  const auto once = program.run({"run", "-m", model, "--json", "-n", "1", "-p", "Hello"}).json();
  EXPECT_FALSE(once.contains("seed")) << "one answer stays the likeliest";
}

}  // namespace
}  // namespace longhaul
