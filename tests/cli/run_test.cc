// longhaul run, end to end, on models/nano.

#include <gtest/gtest.h>

#include "attention/registry.h"
#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kPassKeyQuestion;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

/// Filler with a fact in the middle: some 1,300 tokens.
std::string long_text() {
  const std::string filler =
      "The rain had not stopped since the morning, and the road to the harbour lay under water. ";
  std::string text;
  for (int i = 0; i < 60; ++i) {
    if (i == 30) text += "One of the special magic numbers for quiet-harbor is: 4827163. ";
    text += filler;
  }
  return text;
}
constexpr const char* kNumberQuestion =
    "What is the special magic number for quiet-harbor mentioned in the provided text?";

TEST(Run, AnswersAndReports) {
  const Outcome o = Program().run({"run", "-p", kPassKeyQuestion});
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out, "The pass key is 58213.\n");
  EXPECT_TRUE(has(o.err, {"first token", "tokens/s", "end of reply", "KV", "memory", "kernels"}));
}

TEST(Run, QuietSaysNothingButTheReply) {
  const Outcome o = Program().run({"run", "-q", "-p", kPassKeyQuestion});
  EXPECT_EQ(o.out, "The pass key is 58213.\n");
  EXPECT_EQ(o.err, "");
}

TEST(Run, FindsAFactInAFile) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const Outcome o = program.run({"run", "-f", file, "-p", kNumberQuestion});
  EXPECT_TRUE(has(o.out, {"4827163"}));
}

TEST(Run, ReadsStandardInputAndSeveralFiles) {
  Program program;
  const auto file = program.folder().write("other.txt", "A second text.\n");
  const Outcome o = program.run({"run", "-f", "-", "-f", file, "-p", kNumberQuestion}, long_text());
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"4827163"}));
}

TEST(Run, JsonHoldsTextAndFigures) {
  const Outcome o = Program().run({"run", "--json", "-p", kPassKeyQuestion});
  EXPECT_EQ(o.err, "");
  const auto json = o.json();
  EXPECT_EQ(json["text"], "The pass key is 58213.");
  EXPECT_EQ(json["stop_reason"], "end_of_reply");
  EXPECT_EQ(json["attention"], "dense");
  EXPECT_EQ(json["reused_tokens"], 0);
  for (const char* key : {"prompt_tokens", "prefill_tokens_per_second", "first_token_seconds",
                          "decode_tokens_per_second", "kv_bytes", "peak_rss_bytes"}) {
    EXPECT_GT(json[key].get<double>(), 0) << key;
  }
  // tokens x layers x 2 x KV heads x head dim x bytes, and at most a page of 64 rows more
  const size_t per_token = size_t{12} * 2 * 3 * 64 * 2;
  const size_t tokens = json["context_tokens"];
  EXPECT_GE(json["kv_bytes"].get<size_t>(), tokens * per_token);
  EXPECT_LE(json["kv_bytes"].get<size_t>(), (tokens + 64) * per_token);
}

TEST(Run, ChunkThreadsAndKernelsDoNotChangeTheAnswer) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  for (const Program::Arguments& flags : {Program::Arguments{"--chunk", "37"},
                                          {"--threads", "1"},
                                          {"--isa", "generic"},
                                          {"--compute", "f32"},
                                          {"--kv-type", "f32"},
                                          {"--kv-type", "f16"},
                                          {"--kv-type", "Q8_0"},
                                          {"--attention", "dense"}}) {
    Program::Arguments arguments{"run", "-q", "-f", file, "-p", kNumberQuestion};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome o = program.run(arguments);
    EXPECT_TRUE(has(o.out, {"4827163"})) << flags[0] << " " << flags[1] << ": " << o.err;
  }
}

TEST(Run, StopsAtTextAndAtTheLimit) {
  Outcome o = Program().run({"run", "--json", "-p", kPassKeyQuestion, "--stop", "s 5"});
  EXPECT_EQ(o.json()["text"], "The pass key i");
  EXPECT_EQ(o.json()["stop_reason"], "stop_string");
  o = Program().run({"run", "--json", "-p", kPassKeyQuestion, "-n", "3"});
  EXPECT_EQ(o.json()["tokens"].size(), 3);
  EXPECT_EQ(o.json()["stop_reason"], "max_tokens");
  const int64_t prompt = o.json()["prompt_tokens"];
  o = Program().run({"run", "--json", "-p", kPassKeyQuestion, "--ctx", std::to_string(prompt + 2)});
  EXPECT_EQ(o.json()["stop_reason"], "context_full");
  EXPECT_EQ(o.json()["context_tokens"], prompt + 2);
}

TEST(Run, SeedsRepeat) {
  const auto text = [](const char* seed) {
    return Program()
        .run({"run", "-q", "-p", "Tell me a story.", "--temp", "1.5", "--top-k", "0", "--top-p",
              "1", "--min-p", "0", "-n", "24", "--seed", seed})
        .out;
  };
  EXPECT_EQ(text("1"), text("1"));
  EXPECT_NE(text("1"), text("2"));
}

TEST(Run, RawContinuesTheBareText) {
  const std::string chat =
      "<|im_start|>user\n" + std::string(kPassKeyQuestion) + "<|im_end|>\n<|im_start|>assistant\n";
  const Outcome raw = Program().run({"run", "--json", "--raw", "-f", "-"}, chat);
  const Outcome templated = Program().run({"run", "--json", "-p", kPassKeyQuestion});
  EXPECT_EQ(raw.json()["text"], templated.json()["text"]);
  EXPECT_EQ(raw.json()["prompt_tokens"], templated.json()["prompt_tokens"]);
}

TEST(Run, AUserCannotWriteControlTokens) {
  const auto tokens = [](const std::string& text) {
    return Program()
        .run({"run", "--json", "-n", "0", "-p", text})
        .json()["prompt_tokens"]
        .get<int>();
  };
  EXPECT_GT(tokens("a<|im_end|>b"), tokens("ab") + 3);  // spelled out, not one token
}

TEST(Run, SystemMessageAndNamedTemplate) {
  const auto tokens = [](Program::Arguments extra) {
    Program::Arguments arguments{"run", "--json", "-n", "0", "-p", "Hello"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return Program().run(arguments).json()["prompt_tokens"].get<int>();
  };
  EXPECT_GT(tokens({"--system", "Be brief."}), tokens({}));
  EXPECT_EQ(tokens({"--chat-template", "chatml"}), tokens({}));
  EXPECT_NE(tokens({"--chat-template", "llama3"}), tokens({}));
}

TEST(Run, SavedSessionsAreNotReadAgain) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const std::string session = program.folder().path() / "text.session";
  Outcome o = program.run({"run", "-f", file, "-n", "0", "--save", session, "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const int64_t read = o.json()["prompt_tokens"];
  o = program.run({"run", "-f", file, "--load", session, "-p", kNumberQuestion, "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.json()["text"].get<std::string>(), {"4827163"}));
  EXPECT_GT(o.json()["reused_tokens"].get<int64_t>(), read - 16);
  EXPECT_EQ(o.json()["loaded_tokens"], read);

  o = program.run({"run", "-f", file, "--load", session, "-p", "?", "--kv-type", "f32"});
  EXPECT_TRUE(refused(o, {"text.session"}));
  std::filesystem::resize_file(session, std::filesystem::file_size(session) - 100);
  o = program.run({"run", "-f", file, "--load", session, "-p", kNumberQuestion});
  EXPECT_TRUE(refused(o, {"text.session"}));
}

/// Also methods that cannot go back: what was saved is what stays whatever is asked.
TEST(Run, ATextThatWasReadIsNotReadAgainWithAnyMethod) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const std::string session = program.folder().path() / "text.session";
  for (const MethodInfo& method : attention_methods()) {
    if (method.name == "citrus") continue;  // reads nothing without a question: see below
    SCOPED_TRACE(method.name);
    const std::string name(method.name);
    Outcome o = program.run(
        {"run", "--attention", name, "-f", file, "-n", "0", "--save", session, "--json"});
    ASSERT_EQ(o.status, 0) << o.err;
    const int64_t read = o.json()["prompt_tokens"];
    EXPECT_GT(read, 900);
    o = program.run({"run", "--attention", name, "-f", file, "--load", session, "-p",
                     kNumberQuestion, "-n", "2", "--json"});
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.json()["reused_tokens"], read);
    EXPECT_EQ(o.err, "");
  }
}

/// What citrus has read, it has read by a question: it goes on from where that ended.
TEST(Run, ATextReadByAQuestionIsGoneOnWith) {
  Program program;
  const std::string question = "Tell me of the quiet harbor";
  const auto file = program.folder().write("text.txt", long_text());
  const auto with_question = program.folder().write("longer.txt", long_text() + "\n\n" + question);
  const std::string session = program.folder().path() / "text.session";
  const Program::Arguments run{"run", "--attention", "citrus:k=128,chunk=128", "--raw", "--json"};
  const auto with = [&](Program::Arguments more) {
    more.insert(more.begin(), run.begin(), run.end());
    return program.run(more);
  };
  Outcome o = with({"-f", file, "-p", question, "-n", "0", "--save", session});
  ASSERT_EQ(o.status, 0) << o.err;
  const int64_t read = o.json()["prompt_tokens"];
  o = with({"-f", with_question, "-p", "And now", "--load", session, "-n", "2"});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_GT(read, 900);
  EXPECT_EQ(o.json()["reused_tokens"], read);
  EXPECT_EQ(o.err, "");
}

TEST(Run, ASessionThatIsOfNoUseIsToldOf) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const std::string session = program.folder().path() / "text.session";
  const Program::Arguments run{"run", "-q", "--attention", "streamingllm:recent=400",
                               "-f",  file, "-n",          "2"};
  const auto with = [&](Program::Arguments more) {
    more.insert(more.begin(), run.begin(), run.end());
    return program.run(more);
  };
  ASSERT_EQ(with({"-p", "Where?", "--save", session}).err, "");
  const Outcome o = with({"-p", "When?", "--load", session});
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"warning: --load " + session, "streamingllm", "read anew", "-n 0"}));
}

TEST(Run, ASessionOfAnotherTextIsWarnedAbout) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const auto other = program.folder().write("other.txt", "Of cabbages and kings. " + long_text());
  const std::string session = program.folder().path() / "text.session";
  ASSERT_EQ(program.run({"run", "-f", file, "-n", "0", "--save", session}).status, 0);
  const Program::Arguments load{"run", "-q", "--load", session};
  const auto with = [&](Program::Arguments more, const std::string& input = "") {
    more.insert(more.begin(), load.begin(), load.end());
    return program.run(more, input);
  };
  const std::string warning = "warning: --load " + session;
  Outcome o = with({"-f", other, "-p", kNumberQuestion});
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"4827163"})) << "it answers all the same";
  EXPECT_TRUE(has(o.err, {warning, "tokens only the first", "another text"}));
  EXPECT_EQ(with({"-f", file, "-p", kNumberQuestion}).err, "");
  EXPECT_EQ(with({"-f", file, "-f", other, "-p", kNumberQuestion, "-n", "4"}).err, "");

  o = with({"-i", "-f", other, "-n", "4"}, "What?\nAnd now?\n");
  EXPECT_EQ(o.err.find(warning), 0u);
  EXPECT_EQ(o.err.find(warning, 1), std::string::npos) << "once is enough: " << o.err;
  EXPECT_EQ(with({"-i", "-f", file, "-n", "4"}, "What?\nAnd now?\n").err, "");
}

TEST(Run, ChatReadsOnlyWhatIsNew) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  const std::string lines = std::string(kNumberQuestion) + "\n\n" + kPassKeyQuestion + "\n/quit\n";
  const Outcome o = program.run({"run", "-i", "-f", file}, lines);
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.out, {"4827163", "The pass key is 58213."}));
  // "[22 of 1,312 tokens read, ...": the text was read before the first question
  for (size_t at = o.err.find('['); at != std::string::npos; at = o.err.find('[', at + 1)) {
    EXPECT_LT(std::stoi(o.err.substr(at + 1)), 100) << o.err;
  }
  EXPECT_TRUE(has(o.err, {" tokens read, first token "}));
}

TEST(Run, ChatGoesOnAfterAnErrorAndClears) {
  Program program;
  const std::string lines = long_text() + "\n" + kPassKeyQuestion + "\n/clear\nHello\n";
  const Outcome o = program.run({"run", "-i", "--ctx", "500", "-n", "40"}, lines);
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"error: --ctx 500"}));
  EXPECT_TRUE(has(o.out, {"The pass key is 58213."}));
}

TEST(Run, BrokenUtf8IsReplacedWithAWarning) {
  const Outcome o = Program().run({"run", "-f", "-", "-p", kNumberQuestion},
                                  "caf\xe9 au lait, \xff\xff and more. " + long_text());
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"warning: ", "not valid UTF-8", "3 "}));
  EXPECT_TRUE(has(o.out, {"4827163"}));
}

TEST(Run, WarnsBeyondTheTrainedLength) {
  std::string text;
  for (int i = 0; i < 7; ++i) text += long_text();
  const Outcome o = Program().run({"run", "-f", "-", "-n", "0"}, text);
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"warning: ", "8192", "dense", "--attention ", "goes further"}));
  // a method that does, and none that was trained to the same length
  EXPECT_TRUE(has(o.err, {"streamingllm"}));
  EXPECT_EQ(o.err.find("minference"), std::string::npos) << o.err;
  const Outcome able =
      Program().run({"run", "-f", "-", "-n", "0", "-q", "--attention", "streamingllm"}, text);
  EXPECT_EQ(able.status, 0);
  EXPECT_EQ(able.err, "");
}

TEST(Run, ControlCStopsTheReplyAndReports) {
  Program program;
  const Outcome o = program.run_and_interrupt(
      {"run", "--raw", "-n", "-1", "-p", "Once upon a time", "--temp", "1", "--ctx", "200000"},
      [&] { return !program.output_so_far().empty(); });
  EXPECT_EQ(o.status, 130);
  EXPECT_TRUE(has(o.err, {"cancelled", "tokens/s", "KV"}));
}

TEST(Run, ControlCStopsThePrompt) {
  Program program;
  std::string text;
  for (int i = 0; i < 60; ++i) text += long_text();
  const auto file = program.folder().write("text.txt", text);
  // The warning about the length is the last thing before reading begins.
  const auto reading = [&] { return !program.errors_so_far().empty(); };
  const Outcome o =
      program.run_and_interrupt({"run", "-f", file, "--chunk", "64", "-p", "What?"}, reading);
  EXPECT_EQ(o.status, 130);
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(has(o.err, {"cancelled after"}));
}

}  // namespace
}  // namespace longhaul
