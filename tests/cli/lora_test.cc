// --lora and the descriptions of models, end to end.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

const std::string kBaseModel = LONGHAUL_TEST_DATA "/tiny_models/llama_linear";
const std::string kAdapter = LONGHAUL_TEST_DATA "/adapters/llama_linear";

nlohmann::json reply(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"run", "-m", kBaseModel, "--raw",     "-p", "12 34",
                                        "-n",  "8",  "--json",   "--compute", "f32"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const Outcome o = Program().run(arguments);
  EXPECT_EQ(o.status, 0) << o.err;
  return o.status == 0 ? o.json() : nlohmann::json();
}

TEST(Lora, ChangesTheReplyByItsWeight) {
  const auto plain = reply({}), with = reply({"--lora", kAdapter});
  EXPECT_NE(plain["tokens"], with["tokens"]);
  EXPECT_GT(with["weight_bytes"], plain["weight_bytes"]);
  EXPECT_EQ(reply({"--lora", kAdapter + ":1"})["tokens"], with["tokens"]);
  EXPECT_EQ(reply({"--lora", kAdapter + ":0"})["tokens"], plain["tokens"]);
  EXPECT_EQ(reply({"--lora", kAdapter, "--lora=" + kAdapter + ":-1"})["tokens"], plain["tokens"]);
}

TEST(Lora, SessionFilesTellAdaptersApart) {
  const Program place;
  const std::string session = place.folder().path() / "s";
  reply({"--save", session, "--lora", kAdapter});
  EXPECT_GT(reply({"--load", session, "--lora", kAdapter})["reused_tokens"], 0);
  Program program;
  const Outcome other =
      program.run({"run", "-m", kBaseModel, "--raw", "-p", "12 34", "--load", session});
  EXPECT_EQ(other.status, 2);
  EXPECT_TRUE(has(other.err, {"model"}));
}

TEST(Lora, RefusesWhatIsNone) {
  Program program;
  const auto run = [&](const std::string& lora) {
    return program.run({"run", "-m", kBaseModel, "-p", "x", "--lora", lora});
  };
  EXPECT_TRUE(refused(run(kAdapter + ":much"), {"--lora", "'much'", "no number"}));
  EXPECT_TRUE(refused(run("nowhere.gguf"), {"nowhere.gguf", "no such file"}));
  EXPECT_TRUE(refused(run(""), {"--lora", "empty"}));
  EXPECT_TRUE(refused(run(LONGHAUL_TEST_DATA "/tiny_models/gguf/qwen2.gguf"),
                      {"qwen2.gguf", "general.type"}));
  EXPECT_TRUE(
      refused(program.run({"run", "-m", LONGHAUL_TEST_DATA "/adapters/gguf/qwen2.gguf", "-p", "x"}),
              {"an adapter, not a model", "--lora"}));
}

TEST(Lora, AServerRefusesAnOfferBeforeItServes) {
  Program program;
  const auto serve = [&](const std::string& offer) {
    return program.run({"serve", "-m", kBaseModel, "--listen", "127.0.0.1:0", "--no-sandbox",
                        "--offer-adapter", offer});
  };
  for (const std::string& offer : {kAdapter, "=" + kAdapter, "a+b=" + kAdapter}) {
    EXPECT_TRUE(refused(serve(offer), {"--offer-adapter", "NAME=FILE"})) << offer;
  }
  EXPECT_TRUE(refused(serve("a=" + kAdapter + ":much"), {"--offer-adapter", "'much'"}));
  EXPECT_TRUE(refused(serve("a=nowhere.gguf"), {"nowhere.gguf", "no such file"}));
  EXPECT_TRUE(refused(serve("a=" LONGHAUL_TEST_DATA "/adapters/qwen2"),
                      {"adapters/qwen2", "factors for a matrix"}));
}

TEST(Note, OfNanoStandsUnderItsReplies) {
  Program program;
  const Outcome text = program.run({"run", "-m", "nano", "-p", "Who?", "-n", "2"});
  EXPECT_TRUE(has(text.err, {"note", "nano", "longhaul pull smollm2-32k"}));
  EXPECT_EQ(text.out.find("longhaul pull"), std::string::npos);
  const Outcome json = program.run({"run", "-m", "nano", "-p", "Who?", "-n", "2", "--json"});
  EXPECT_TRUE(has(json.json()["note"].get<std::string>(), {"nano", "longhaul pull"}));
  const Outcome quiet = program.run({"run", "-m", "nano", "-p", "Who?", "-n", "2", "-q"});
  EXPECT_EQ(quiet.err, "");
  const Outcome chat = program.run({"run", "-m", "nano", "-i", "-n", "2"}, "Who?\nWhere?\n");
  EXPECT_TRUE(has(chat.err, {"longhaul pull smollm2-32k"}));
  EXPECT_FALSE(reply({}).contains("note"));
}

TEST(Note, OfASmallModelSaysThatItErrs) {
  Program program;
  const std::filesystem::path model = program.folder().path() / "small";
  std::filesystem::copy(LONGHAUL_MODELS "/nano", model);
  std::filesystem::permissions(model / "config.json", std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::ifstream in(model / "config.json");
  nlohmann::json config = nlohmann::json::parse(in);
  ASSERT_EQ(config.erase("longhaul_note"), 1u);
  std::ofstream(model / "config.json") << config;
  const Outcome o = program.run({"run", "-m", model, "-p", "Who?", "-n", "2", "--json"});
  EXPECT_TRUE(has(o.json()["note"].get<std::string>(), {"21 million parameters", "wrong"}));
}

}  // namespace
}  // namespace longhaul
