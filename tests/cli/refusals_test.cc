// Every bad flag and every bad input gets one line and exit status 2.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/program.h"
#include "format/safetensors_builder.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

struct BadCall {
  Program::Arguments arguments;
  std::string part, other_part;  ///< parts of the error line
};

void PrintTo(const BadCall& call, std::ostream* out) {
  for (const std::string& argument : call.arguments) *out << argument << ' ';
}

class BadCalls : public ::testing::TestWithParam<BadCall> {};

TEST_P(BadCalls, AreRefusedInOneLine) {
  const BadCall& bad = GetParam();
  EXPECT_TRUE(refused(Program().run(bad.arguments), {bad.part, bad.other_part}));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadCalls,
    ::testing::Values(
        BadCall{{"rnu"}, "unknown command 'rnu'", "did you mean 'run'?"},
        BadCall{{"help", "rnu"}, "unknown command 'rnu'", "did you mean 'run'?"},
        BadCall{{"transformer"}, "unknown command 'transformer'", "longhaul --help"},
        BadCall{{"--verion"}, "unknown flag '--verion'", "did you mean '--version'?"},
        BadCall{{"run", "--tmep", "1"}, "unknown flag '--tmep'", "did you mean '--temp'?"},
        BadCall{{"run", "--chat-tempalte=x"}, "'--chat-tempalte'", "'--chat-template'?"},
        BadCall{{"run", "-z"}, "unknown flag '-z'", "longhaul run --help"},
        BadCall{{"run", "What", "is"}, "unexpected argument 'What'", "-p"},
        BadCall{{"run", "-p"}, "--prompt", "value is missing"},
        BadCall{{"run", "-p", "x", "--temp", "hot"}, "--temp: 'hot' is no number", "0 to 100"},
        BadCall{{"run", "-p", "x", "--temp", "-1"}, "--temp: '-1'", "0 to 100"},
        BadCall{{"run", "-p", "x", "--temp", "nan"}, "--temp: 'nan'", "0 to 100"},
        BadCall{{"run", "-p", "x", "--top-k", "1.5"}, "--top-k: '1.5' is no whole number", "0"},
        BadCall{{"run", "-p", "x", "--top-p", "1.1"}, "--top-p: '1.1'", "0 to 1"},
        BadCall{{"run", "-p", "x", "--min-p", "-0.1"}, "--min-p: '-0.1'", "0 to 1"},
        BadCall{{"run", "-p", "x", "--repeat-penalty", "0"}, "--repeat-penalty: '0'", "0.01"},
        BadCall{{"run", "-p", "x", "--repeat-last", "x"}, "--repeat-last: 'x'", "whole number"},
        BadCall{{"run", "-p", "x", "--seed", "-3"}, "--seed: '-3'", "whole number"},
        BadCall{{"run", "-p", "x", "-n", "-2"}, "--tokens: '-2'", "at least -1"},
        BadCall{{"run", "-p", "x", "-n=3x"}, "'-n=3x'", "without '=', as in -n N"},
        BadCall{{"run", "-p", "x", "-qt=2"}, "'-qt=2'", "without '=', as in -t N"},
        BadCall{{"run", "-m=nano", "-p", "x"}, "'-m=nano'", "as in -m MODEL"},
        BadCall{{"run", "-f=x.txt"}, "'-f=x.txt'", "as in -f FILE"},
        BadCall{{"run", "-p=What?"}, "'-p=What?'", "as in -p TEXT"},
        BadCall{{"run", "-p", "a", "-p", "b"}, "--prompt", "given more than once"},
        BadCall{{"run", "-p", "x", "--system", "a", "--system", "b"}, "--system", "more than once"},
        BadCall{{"run", "-p", "x", "--raw", "--system", "y"}, "--system", "--raw"},
        BadCall{{"run", "-p", "x", "--raw", "--chat-template", "phi3"}, "-template phi3", "--raw"},
        BadCall{{"run", "-p", "x", "--chunk", "99999999999999999999"}, "--chunk:", "whole number"},
        BadCall{{"run", "-p", "x", "--ctx", "12k"}, "--ctx: '12k'", "whole number"},
        BadCall{{"run", "-p", "x", "--threads", "two"}, "--threads: 'two'", "whole number"},
        BadCall{{"run", "-f", "/dev/zero", "--ctx", "100"}, "/dev/zero: more than", "--ctx 100"},
        BadCall{{"run", "-f", "/dev/zero", "--memory-limit", "99M"}, "1.5 MiB", "--memory-limit"},
        BadCall{{"run", "-p", "x", "--isa", "avx"}, "--isa: 'avx'", "avx2"},
        BadCall{{"run", "-p", "x", "--kv-type", "q4_1"}, "--kv-type: 'q4_1'", "q8_0 or q4_0"},
        BadCall{{"run", "-p", "x", "--kv-type", "k=q8_0,q4_0"}, "'k=q8_0,q4_0'", "k=q8_0,v=q4_0"},
        BadCall{{"run", "-p", "x", "-ctv", "q5_1"}, "--kv-type: 'v=q5_1'", "q4_0"},
        BadCall{{"run", "-p", "x", "--compute", "f16"}, "--compute: 'f16'", "best, int8, fp8, f32"},
        BadCall{{"run", "-p", "x", "--compute", "fp8", "--device", "cpu"},
                "--compute fp8: only GPUs",
                "--device cpu"},
        BadCall{{"run", "-p", "x", "--memory-limit", "lots"}, "--memory-limit: 'lots'", "512M"},
        BadCall{{"run", "-p", "x", "--memory-limit", "1M"}, "--memory-limit", "1.0 MiB"},
        BadCall{{"run", "-p", "x", "--chat-template", "foo"}, "--chat-template: 'foo'", "chatml"},
        BadCall{{"run", "-p", "x", "--raw", "--template-clock"}, "--template-clock", "--raw"},
        BadCall{{"run", "-p", "x", "--attention", "desne"}, "'desne'", "'dense'"},
        BadCall{{"run", "-p", "x", "--attention", "SnapKV"}, "'SnapKV'", "did you mean 'snapkv'?"},
        BadCall{{"run", "-p", "x", "--attention", ""}, "--attention", "name is missing"},
        BadCall{{"run", "-p", "x", "--attention", "snapkv,dense"}, "one method", "eval and bench"},
        BadCall{{"run", "-p", "x", "--attention", "tova:sink=1,dense"}, "one method", "bench"},
        BadCall{{"run", "-p", "x", "--attention", "tova:stride=1,sink"}, "'sink'", "sink=VALUE"},
        BadCall{{"run", "-p", "x", "--attention", "dense:k=1"}, "--attention dense", "'k'"},
        BadCall{{"run", "-p", "x", "--attention", "tova:sink=9"}, "tova: sink", "mode=official"},
        BadCall{{"run", "-p", "x", "--attention", "snapkv:capacity=1"}, "to 16,777,216", "from 2"},
        BadCall{{"bench", "--attention", "h2o:mode=oneshot,sink=9"}, "h2o: sink", "mode=oneshot"},
        BadCall{{"run", "-p", "x", "--load", "/no/such"}, "/no/such", "No such file"},
        BadCall{{"run", "-p", "x", "--save", "/no/such/file"}, "/no/such/file", "No such file"},
        BadCall{{"run", "-p", "x", "--save", "/dev/full/s"}, "/dev/full/s", "Not a directory"},
        BadCall{{"run", "-p", "x", "--save", "/tmp"}, "--save /tmp", "Is a directory"},
        BadCall{{"run", "-i", "--save", "/no/such/file"}, "/no/such/file", "No such file"},
        BadCall{{"run", "-p", "x", "--save", ""}, "--save", "name is empty"},
        BadCall{{"run", "-p", "x", "--load", ""}, "--load", "name is empty"},
        BadCall{{"run", "-p", "x", "--save", "/etc/hostname"}, "/etc/hostname", "no session file"},
        BadCall{{"run", "-p", "x", "--system=", "--json"}, "--system=: the value", "missing"},
        BadCall{{"run", "-f", "a.txt", "b.txt"}, "unexpected argument 'b.txt'", "-f before each"},
        BadCall{{"run", "-p", "x", "--ctx", "08x"}, "--ctx: '08x'", "whole number"},
        BadCall{{"eval", "passkey", "--lengths", "512,512"}, "--lengths: 512", "given twice"},
        BadCall{{"eval", "jsonl:"}, "jsonl", "file is missing"},
        BadCall{{"eval", "passkey", "--out", ""}, "--out", "name is empty"},
        BadCall{{"report", ""}, "''", "is no folder"},
        BadCall{{"run", "-p", "x", "--stop", ""}, "--stop", "empty text"},
        BadCall{{"run", "-i", "--json"}, "--json", "-i"},
        BadCall{{"run", "-i", "--raw"}, "--raw", "-i"},
        BadCall{{"run", "-i", "-f", "-"}, "-f -", "-i"},
        BadCall{{"run", "-f", "-", "-f", "-"}, "-f -", "once"},
        BadCall{{"run", "-m", "nanoo", "-p", "x"}, "'nanoo'", "nano"},
        BadCall{{"run", "-p", "one two three", "--ctx", "4"}, "--ctx 4", "tokens"},
        BadCall{{"heads", "--lengths", "9"}, "--lengths", "64"},
        BadCall{{"heads", "--least", "2"}, "--least: '2'", "1"},
        BadCall{{"heads", "--save"}, "ltri.json", "there already"},
        BadCall{{"calibrate"}, "METHOD", "longhaul calibrate --help"},
        BadCall{{"calibrate", "tova"}, "METHOD", "tova"},
        BadCall{{"calibrate", "duo", "--save"}, "duo.json", "there already"},
        BadCall{{"calibrate", "trianglemix", "--save"}, "trianglemix.json", "there already"},
        BadCall{{"calibrate", "duo", "--tasks", "passkey,magix"}, "magix", "magic"},
        BadCall{{"calibrate", "duo", "--lengths", "900,300"}, "--lengths 900,300", "shortest"},
        BadCall{{"calibrate", "duo", "--prompts", "9"}, "--prompts", "trianglemix"},
        BadCall{{"calibrate", "ltri", "--device", "cuda"}, "calibrate ltri", "CPU"},
        BadCall{{"calibrate", "duo", "--device", "gpu"}, "gpu", "cuda"},
        BadCall{{"calibrate", "trianglemix", "--steps", "9"}, "--steps", "duo"},
        BadCall{{"calibrate", "trianglemix", "--triangle-layers", "13"}, "13", "12 layers"},
        BadCall{{"perplexity"}, "file", "longhaul perplexity --help"},
        BadCall{{"perplexity", "/no/such"}, "/no/such", "No such file"},
        BadCall{{"perplexity", "/etc/hostname", "--ctx", "1"}, "--ctx: '1'", "from 2"},
        BadCall{{"perplexity", "/etc/passwd", "--ctx", "8", "--stride", "9"}, "--stride 9", "8"},
        BadCall{{"perplexity", "/etc/passwd", "--ctx", "8", "--prefill", "8"}, "--prefill 8", "8"},
        BadCall{{"perplexity", "/etc/passwd", "--attention", "citrus"}, "citrus", "--instruction"},
        BadCall{{"run", "-f", "/etc/passwd", "--attention", "citrus"}, "instruction", "-p"},
        BadCall{{"bench", "--prompt", "512,x"}, "--prompt: 'x'", "whole number"},
        BadCall{{"bench", "--prompt", "0"}, "--prompt: '0'", "from 1"},
        BadCall{{"bench", "--depth", ""}, "--depth: ''", "whole number"},
        BadCall{{"bench", "--repeat", "0"}, "--repeat: '0'", "from 1 to 1,000"},
        BadCall{{"bench", "--attention", "dense,foo"}, "'foo'", "dense"},
        BadCall{{"inspect"}, "model", "longhaul inspect --help"},
        BadCall{{"inspect", "/etc/hostname"}, "/etc/hostname", ""},
        BadCall{{"tokenize"}, "TEXT", "-f FILE"},
        BadCall{{"tokenize", "", "-f", "b"}, "TEXT", "not both"},
        BadCall{{"tokenize", "a", "-f", "b"}, "TEXT", "not both"},
        BadCall{{"methods", "--jsno"}, "'--jsno'", "'--json'?"},
        BadCall{{"models", "extra"}, "unexpected argument 'extra'", "models"},
        BadCall{{"pull", "gpt5"}, "'gpt5'", "smollm2"},
        BadCall{{"pull", "nano"}, "'nano'", "here already"},
        BadCall{{"run", "-m", "nanoo", "-p", "x"}, "'nanoo'", "did you mean 'nano'?"},
        BadCall{{"run", "Who is it?", "-f", "/etc/passwd"}, "put -p before", "'Who is it?'"},
        BadCall{{"run", "nano", "/etc/passwd", "Who?"}, "/etc/passwd is a file", "-f"},
        BadCall{{"run", "-p", "x", "--sources=0"}, "--sources=N", "from 1 to 1,000"}));

TEST(Refusals, EmptyPrompts) {
  Program program;
  const auto blank = program.folder().write("blank.txt", " \n\t\n");
  EXPECT_TRUE(refused(program.run({"run"}), {"prompt is empty", "-f FILE", "-p TEXT"}));
  EXPECT_TRUE(refused(program.run({"run", "-p", ""}), {"prompt is empty"}));
  EXPECT_TRUE(refused(program.run({"run", "-f", blank}), {"prompt is empty"}));
  EXPECT_TRUE(refused(program.run({"run", "--raw", "-f", blank}), {"prompt is empty"}));
  EXPECT_TRUE(refused(program.run({"run", "-f", blank, "-p", "What?"}), {"blank.txt", "no text"}));
  EXPECT_EQ(program.run({"run", "-f", "-", "-p", "What?", "-n", "1"}, "").status, 0)
      << "a pipe may be empty";
}

TEST(Refusals, FilesThatAreNoText) {
  Program program;
  for (const auto& [begins, what] : std::vector<std::pair<std::string, const char*>>{
           {std::string("PK\3\4", 4), "a ZIP archive"},
           {"\x1f\x8b\x08", "gunzip"},
           {std::string("GGUF\3\0\0\0", 8), "a model, not text"},
           {"LNGHULVK", "a session file: give it to --load"}}) {
    const auto file = program.folder().write("other", begins + "more");
    EXPECT_TRUE(refused(program.run({"run", "-f", file, "-p", "x"}), {"other: this is", what}));
  }
  // The length of a header may look like a UTF-16 mark.
  const auto is_model = [&](const std::string& bytes) {
    const auto file = program.folder().write("a.safetensors", bytes);
    EXPECT_TRUE(refused(program.run({"run", "-f", file, "-p", "x", "--raw"}),
                        {"a.safetensors: this is a model, not text"}));
  };
  is_model(testing_support::safetensors(R"({"w":{}})"));
  is_model(std::string("\xff\xfe\0\0\0\0\0\0{\"w\":{}}", 16));
  EXPECT_TRUE(refused(program.run({"run", "-f", "/tmp", "-p", "x"}), {"/tmp", "folder"}));
  EXPECT_TRUE(refused(program.run({"run", "-f", "", "-p", "x"}), {"name of a text is empty"}));
  EXPECT_TRUE(refused(program.run({"run", "-f", "/no/such", "-p", "x"}), {"/no/such"}));
}

TEST(Refusals, Utf16WithoutAByteOrderMarkIsToldFromATextWithZeros) {
  Program program;
  const auto read = [&](const std::string& bytes) {
    const auto file = program.folder().write("wide.txt", bytes);
    return program.run({"tokenize", "-f", file, "--count"});
  };
  const std::string want = read("Grüße–").out;
  const std::string little("G\0r\0\xfc\0\xdf\0e\0\x13\x20", 12);
  const std::string big("\0G\0r\0\xfc\0\xdf\0e\x20\x13", 12);
  for (const std::string* bytes : {&little, &big}) {
    const Outcome o = read(*bytes);
    EXPECT_EQ(o.out, want);
    EXPECT_EQ(o.err, "");
  }
  const std::vector<std::string> zeros = {std::string("one\0zero", 8),
                                          std::string("a\0\0\0b\0\0\0", 8), std::string(64, '\0')};
  for (const std::string& bytes : zeros) {
    const Outcome o = read(bytes);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(has(o.err, {"warning: ", "wide.txt: holds zero bytes"}));
  }
}

TEST(Refusals, DamagedModels) {
  Program program;
  const auto text = program.folder().write("text.gguf", "hello");
  const auto cut = program.folder().write("cut.gguf", std::string("GGUF\3\0\0\0\xff\xff", 10));
  EXPECT_TRUE(refused(program.run({"run", "-m", text, "-p", "x"}), {"text.gguf"}));
  EXPECT_TRUE(refused(program.run({"inspect", cut}), {"cut.gguf"}));
  EXPECT_TRUE(refused(program.run({"run", "-m", program.folder().path(), "-p", "x"}),
                      {program.folder().path().string(), "config.json"}));
}

TEST(Refusals, NamesAreMadeFitForALine) {
  const Program::Arguments hostile[] = {{"run", "-m", "a\nb\x1b[31m", "-p", "x"},
                                        {"run", "-f", "a\nb\x1b[31m", "-p", "x"},
                                        {"inspect", "a\nb\x1b[31m"},
                                        {"run", "-p", "x", "--load", "a\nb\x1b[31m"}};
  for (const Program::Arguments& arguments : hostile) {
    EXPECT_TRUE(refused(Program().run(arguments), {R"(a\x0ab\x1b[31m)"}));
  }
  EXPECT_TRUE(refused(Program().run({"inspect", "straße"}), {"straße"}));
}

TEST(Refusals, AModelWhoseChatTemplateIsNoneIsNamedWithItsLine) {
  namespace fs = std::filesystem;
  Program program;
  const fs::path model = program.folder().path() / "odd";
  fs::create_directory(model);
  for (const auto& entry : fs::directory_iterator(fs::path(LONGHAUL_MODELS) / "nano")) {
    fs::create_symlink(entry.path(), model / entry.path().filename());
  }
  const fs::path config = model / "tokenizer_config.json";
  fs::remove(config);
  std::ofstream(config) << R"({"chat_template":"<start_of_turn>\n{% if"})";
  EXPECT_TRUE(refused(program.run({"run", "-m", model, "-p", "x"}),
                      {model.string() + ": its chat template, line 2: '%}' is missing"}));
}

TEST(Refusals, APipeIsNoModel) {
  Program program;
  const auto pipe = program.folder().path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(refused(program.run({"inspect", pipe}), {"pipe: neither a file nor a folder"}));
}

TEST(Refusals, AFileThatCannotBeSavedIsNamedBeforeAnythingIsRead) {
  // Neither the text nor the model exists, but the first error is about the save file.
  const Outcome o = Program().run({"run", "-m", "no-such-model", "-f", "/no/such/text", "-p", "x",
                                   "--save", "/no/such/folder/s"});
  EXPECT_TRUE(refused(o, {"--save /no/such/folder/s", "No such file or directory"}));
}

TEST(Refusals, NoMemory) {
  const Outcome o = Program().run({"run", "-p", "x", "--memory-limit", "41M"});
  EXPECT_TRUE(refused(o, {"--memory-limit", "weights", "KV"}));
}

}  // namespace
}  // namespace longhaul
