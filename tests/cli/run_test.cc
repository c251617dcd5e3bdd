// longhaul run, end to end, on models/nano.

#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/texts.h"
#include "ops/matmul/linear.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kNumberQuestion;
using testing_support::kPassKeyQuestion;
using testing_support::long_text;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::read_before_cancelled;

TEST(Run, AnswersAndReports) {
  const Outcome o = Program().run({"run", "-p", kPassKeyQuestion});
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.out, "The pass key is 58213.\n");
  EXPECT_TRUE(has(o.err, {"model ", " nano\n", "first token", "tokens/s", "end of reply", "KV",
                          "memory", "kernels"}));
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
  EXPECT_EQ(json["products"], product_name(Compute::kBest));
  EXPECT_EQ(json["reused_tokens"], 0);
  EXPECT_FALSE(json.contains("session_load_seconds")) << "nothing was loaded";
  for (const char* key : {"prompt_tokens", "prefill_tokens_per_second", "first_token_seconds",
                          "decode_tokens_per_second", "kv_bytes", "peak_rss_bytes"}) {
    EXPECT_GT(json[key].get<double>(), 0) << key;
  }
  // tokens x layers x 2 x KV heads x head dim x bytes, plus at most a page of 64 rows
  const size_t per_token = size_t{12} * 2 * 3 * 64 * 2;
  const size_t tokens = json["context_tokens"];
  EXPECT_EQ(json["model"], "nano");
  EXPECT_GE(json["kv_bytes"].get<size_t>(), tokens * per_token);
  EXPECT_LE(json["kv_bytes"].get<size_t>(), (tokens + 64) * per_token);
}

TEST(Run, JsonTellsHowLongLoadingTook) {
  Program program;
  const std::string session = program.folder().path() / "hello.session";
  const Program::Arguments ask{"run", "--json", "-n", "0", "-p", "Hello"};
  const auto with = [&](const char* flag) {
    Program::Arguments all = ask;
    all.insert(all.end(), {flag, session});
    return program.run(all);
  };
  ASSERT_EQ(with("--save").status, 0);
  EXPECT_GT(with("--load").json()["session_load_seconds"].get<double>(), 0);
}

TEST(Run, ChunkThreadsAndKernelsDoNotChangeTheAnswer) {
  Program program;
  const auto file = program.folder().write("text.txt", long_text());
  for (const Program::Arguments& flags : {Program::Arguments{"--chunk", "37"},
                                          {"--threads", "1"},
                                          {"--isa", "generic"},
                                          {"--compute", "f32"},
                                          {"--compute", "int8"},
                                          {"--isa", "avx2"},
                                          {"--kv-type", "f32"},
                                          {"--kv-type", "f16"},
                                          {"--kv-type", "Q8_0"},
                                          {"--kv-type", "k=q8_0,v=q4_0"},
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
  const auto text = [](const char* seed, const char* top_k = "0") {
    return Program()
        .run({"run", "-q", "-p", "Tell me a story.", "--temp", "1.5", "--top-k", top_k, "--top-p",
              "1", "--min-p", "0", "-n", "24", "--seed", seed})
        .out;
  };
  EXPECT_EQ(text("1"), text("1"));
  EXPECT_NE(text("1"), text("2"));
  EXPECT_EQ(text("1"), text("1", "-1"));  // both mean all tokens
}

TEST(Run, ADrawnReplyNamesTheSeedThatRepeatsIt) {
  const Program::Arguments draw{
      "run",     "-p", "Tell me a story.", "--temp", "1.5", "--top-k", "0",
      "--top-p", "1",  "--min-p",          "0",      "-n",  "24"};
  const auto with = [&](Program::Arguments more) {
    more.insert(more.begin(), draw.begin(), draw.end());
    return Program().run(more);
  };
  const auto drawn = with({"--json"}).json();
  ASSERT_TRUE(drawn.contains("seed"));
  const std::string seed = std::to_string(drawn["seed"].get<uint64_t>());
  const auto again = with({"--json", "--seed", seed}).json();
  EXPECT_EQ(again["tokens"], drawn["tokens"]);
  EXPECT_EQ(again["seed"], drawn["seed"]);
  EXPECT_TRUE(has(with({"--seed", "417"}).err, {"seed", " 417\n"}));
  const auto likeliest = Program().run({"run", "--json", "-n", "1", "-p", "Hello"}).json();
  EXPECT_FALSE(likeliest.contains("seed")) << "nothing is drawn at temperature 0";
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
  EXPECT_GT(tokens("a<|im_end|>b"), tokens("ab") + 3);  // as plain text, not as one token
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
  Program program;
  const auto file = program.folder().write(
      "own.jinja",
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + "
      "'<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}");
  EXPECT_EQ(tokens({"--chat-template", file}), tokens({}));
}

TEST(Run, BrokenUtf8IsReplacedWithAWarning) {
  const Outcome o =
      Program().run({"run", "-f", "-", "-p", kNumberQuestion},
                    "caf\xc3\xa9 \xc3\xa0 \xc3\xb4, \xff\xff and \xe9 more. " + long_text());
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"warning: standard input: not valid UTF-8: 3 broken sequences were"}));
  EXPECT_TRUE(has(o.out, {"4827163"}));
  Program program;
  const auto good = program.folder().write("good.txt", "caf\u00e9");
  const auto bad = program.folder().write("bad.txt", "caf\u00e9 \xe9");
  const std::string err =
      program.run({"run", "-q", "-f", good, "-f", bad, "-p", "\xff?", "-n", "0"}).err;
  EXPECT_TRUE(has(err, {"bad.txt: not valid UTF-8: 1 broken sequence was replaced",
                        "the question: not valid UTF-8: 1 broken sequence was replaced"}));
  EXPECT_EQ(err.find("good.txt"), std::string::npos) << err;
}

TEST(Run, WarnsBeyondTheTrainedLength) {
  std::string text;
  for (int i = 0; i < 7; ++i) text += long_text();
  // The warning precedes the error about --ctx.
  const auto warned = [&](const std::string& method) {
    return Program().run({"run", "-f", "-", "-n", "0", "-q", "--ctx", "10", "--attention", method},
                         text);
  };
  const Outcome o = warned("dense");
  EXPECT_EQ(o.status, 2);
  EXPECT_TRUE(has(o.err, {"warning: ", "8,192", "dense", "--attention ", "goes further"}));
  EXPECT_TRUE(has(o.err, {"--attention reattention goes further ('longhaul advise'"}));
  const Outcome able = warned("streamingllm");
  EXPECT_EQ(able.status, 2);
  EXPECT_EQ(able.err.find("warning"), std::string::npos) << able.err;
}

TEST(Run, WarnsWhereAMethodsOwnWindowPassesTheTrainedLength) {
  std::string text;
  for (int i = 0; i < 9; ++i) text += long_text();
  const auto err = [&](const std::string& method, Program::Arguments more = {}) {
    more.insert(more.begin(), {"run", "-f", "-", "-n", "0", "--attention", method});
    more.insert(more.end(), {"--ctx", "10"});  // the warning precedes this error
    return Program().run(more, text).err;
  };
  for (const std::string method :
       {"streamingllm:recent=20000", "infllm:n_local=20000", "ltri:form=longhaul,n_local=20000",
        "citrus:k=20000", "lminfinite:limit=20000,local=20000", "h2o:budget=20000,positions=cache",
        "ntk:context=9000,mode=fixed"}) {
    EXPECT_TRUE(has(err(method), {"warning: ",
                                  " tokens are more than the 8,192 that this model was "
                                  "trained for: with " +
                                      method,
                                  " attention expect wrong answers; --attention reattention "}));
  }
  EXPECT_TRUE(has(err("streamingllm:recent=8000"),
                  {"warning: --attention streamingllm:recent=8000: rows see up to 9,028 tokens "
                   "back, more than the 8,192 that this model was trained for"}));
  EXPECT_FALSE(has(err("streamingllm:recent=8000", {"--chunk", "100"}), {"warning"}));
  EXPECT_TRUE(has(err("lminfinite:limit=9000"), {"rows see up to 9,000 tokens back"}));
  for (const char* method : {"streamingllm:recent=5000", "infllm:n_local=8192", "ntk",
                             "h2o:budget=5000,positions=cache", "reattention"}) {
    EXPECT_FALSE(has(err(method), {"warning"})) << method;
  }
}

TEST(Run, AdvisesMethodsWhoseDefaultsFitTheTrainedLength) {
  const std::string model = std::string(LONGHAUL_TEST_DATA) + "/tiny_models/qwen3";  // 512 tokens
  const Outcome o = Program().run(
      {"run", "-m", model, "--raw", "-f", "-", "-n", "0", "--ctx", "10"}, long_text());
  EXPECT_TRUE(has(o.err, {"the 512 that this model was trained for", "--attention ntk goes"}));
  for (const char* method : {"streamingllm", "lminfinite", "infllm", "ltri", "citrus"}) {
    EXPECT_EQ(o.err.find(method), std::string::npos) << o.err;
  }
}

TEST(Run, ControlCStopsTheReplyAndReports) {
  Program program;
  const Outcome o = program.run_and_interrupt(
      {"run", "--raw", "-n", "-1", "-p", "Once upon a time", "--temp", "1", "--ctx", "200000"},
      [&] { return !program.output_so_far().empty(); });
  EXPECT_EQ(o.status, 130);
  EXPECT_TRUE(has(o.err, {"cancelled", "tokens/s", "KV"}));
}

/// A prompt of a single pass that takes seconds. Ctrl-C takes effect before its end, and the report
/// does not count it as a reply.
TEST(Run, ControlCStopsAPassHalfWay) {
  Program program;
  std::string text;
  for (int i = 0; i < 4; ++i) text += long_text();
  const auto file = program.folder().write("text.txt", text);
  const auto half_a_second = [end = std::chrono::steady_clock::now() +
                                    std::chrono::milliseconds(500)] {
    return std::chrono::steady_clock::now() > end;
  };
  const Outcome o = program.run_and_interrupt(
      {"run", "-f", file, "--chunk", "8192", "--isa", "generic", "--compute", "f32", "-t", "1"},
      half_a_second);
  EXPECT_EQ(o.status, 130) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(read_before_cancelled(o.err).first, 0) << o.err;
}

TEST(Run, ControlCStopsThePrompt) {
  Program program;
  std::string text;
  for (int i = 0; i < 60; ++i) text += long_text();
  const auto file = program.folder().write("text.txt", text);
  // The warning about the length comes right before reading begins.
  const auto reading = [&] { return !program.errors_so_far().empty(); };
  const Program::Arguments run{"run", "-f", file, "--chunk", "64", "-p", "What?"};
  Outcome o = program.run_and_interrupt(run, reading);
  EXPECT_EQ(o.status, 130);
  EXPECT_EQ(o.out, "");
  const auto [read, all] = read_before_cancelled(o.err);
  EXPECT_GE(read, 0) << o.err;
  EXPECT_LT(read, all);
  EXPECT_GT(all, 50'000);

  Program::Arguments with_json = run;
  with_json.emplace_back("--json");
  o = program.run_and_interrupt(with_json, reading);
  EXPECT_EQ(o.status, 130);
  const auto json = o.json();
  EXPECT_EQ(json["stop_reason"], "cancelled");
  EXPECT_EQ(json["prompt_tokens"], all);
  EXPECT_LT(json["read_tokens"].get<int64_t>(), all);
  EXPECT_EQ(json["context_tokens"], json["read_tokens"]) << "the rate counts what was kept";
  EXPECT_NEAR(
      json["prefill_tokens_per_second"].get<double>() * json["prefill_seconds"].get<double>(),
      json["read_tokens"].get<double>(), 1e-3);
}

}  // namespace
}  // namespace longhaul
