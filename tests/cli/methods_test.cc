// longhaul methods NAME: details of one method.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "attention/method_spec.h"
#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

TEST(MethodsCommand, ExplainsEveryMethod) {
  for (const MethodInfo& method : attention_methods()) {
    const std::string name(method.name);
    const Outcome o = Program().run({"methods", name});
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(has(o.out, {name + ": " + std::string(method.summary), "\nkeeps  ", "\nhelps  ",
                            "\nharms  ", "--attention " + name}))
        << o.out;
    const OptionSet set = method.describe();
    for (const Option& option : set.list.options()) {
      EXPECT_TRUE(
          has(o.out, {std::string(option.key) + "=" + std::string(option.fallback), option.help}));
    }
  }
}

TEST(MethodsCommand, EndsWithAnExampleThatParses) {
  const std::string flag = " --attention ";
  for (const MethodInfo& method : attention_methods()) {
    const std::string out = Program().run({"methods", std::string(method.name)}).out;
    ASSERT_NE(out.rfind(flag), std::string::npos) << out;
    std::string example = out.substr(out.rfind(flag) + flag.size());
    ASSERT_EQ(example.find('\n'), example.size() - 1) << example;
    example.pop_back();
    // An empty value would be a file without a name.
    EXPECT_FALSE(example.ends_with("=")) << example;
    EXPECT_EQ(MethodSpec::parse(example).info().name, method.name) << example;
  }
}

TEST(MethodsCommand, AnExampleOfAFileNamesOne) {
  EXPECT_TRUE(has(Program().run({"methods", "duo"}).out, {"--attention duo:gates=FILE\n"}));
  EXPECT_TRUE(has(Program().run({"methods", "minference"}).out,
                  {"--attention minference:patterns=FILE\n"}));
}

TEST(MethodsCommand, SaysWhatAMethodNeeds) {
  EXPECT_TRUE(has(Program().run({"methods", "duo"}).out, {"\nneeds     gates or sparsity=0|1\n"}));
  EXPECT_EQ(Program().run({"methods", "duo", "--json"}).json()[0]["needs"],
            "gates or sparsity=0|1");
  EXPECT_EQ(Program().run({"methods", "dense", "--json"}).json()[0]["needs"], "");
}

TEST(MethodsCommand, ShowsRangesUnitsAndPaper) {
  EXPECT_TRUE(has(Program().run({"methods", "snapkv"}).out,
                  {"capacity=2048", "2 to 16,777,216 tokens", "avg|max", "paper     SnapKV"}));
}

TEST(MethodsCommand, SaysWhenAnOptionHasAnEffect) {
  const char* said = "first rows, never evicted (only with mode=easykv)";
  EXPECT_TRUE(has(Program().run({"methods", "tova"}).out, {said, "recent=auto", "auto or 0 to"}));
  EXPECT_TRUE(has(Program().run({"methods"}).out, {said}));
  const auto options = Program().run({"methods", "tova", "--json"}).json()[0]["options"];
  std::map<std::string, std::string> only_with;
  for (const auto& option : options) only_with[option["key"]] = option["only_with"];
  const std::map<std::string, std::string> want = {{"mode", ""},
                                                   {"capacity", ""},
                                                   {"stride", ""},
                                                   {"sink", "mode=easykv"},
                                                   {"recent", "mode=easykv"},
                                                   {"positions", "mode=easykv"}};
  EXPECT_EQ(only_with, want);
}

TEST(MethodsCommand, OneInJson) {
  const auto json = Program().run({"methods", "tova", "--json"}).json();
  ASSERT_EQ(json.size(), 1);
  EXPECT_EQ(json[0]["name"], "tova");
  EXPECT_FALSE(json[0]["harms"].get<std::string>().empty());
  EXPECT_FALSE(json[0]["keeps"].get<std::string>().empty());
}

TEST(MethodsCommand, AnUnknownNameGetsTheNearest) {
  EXPECT_TRUE(refused(Program().run({"methods", "snapvk"}), {"snapvk", "did you mean 'snapkv'?"}));
  EXPECT_TRUE(refused(Program().run({"methods", "qqqqqqqq"}), {"'longhaul methods' lists them"}));
}

}  // namespace
}  // namespace longhaul
