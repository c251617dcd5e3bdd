// longhaul perplexity over the methods: windows of a prompt of 100 tokens and at most 20 after it.

#include <gtest/gtest.h>

#include "attention/registry.h"
#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::Outcome;
using testing_support::Program;

TEST(Perplexity, ScoresWithEveryMethodOfTheRegistry) {
  Program program;
  std::string text;  // some 130 tokens
  for (int i = 0; i < 13; ++i) text += "The harbour was quiet and the boats lay still. ";
  const auto file = program.folder().write("text.txt", text);
  for (const MethodInfo& method : attention_methods()) {
    SCOPED_TRACE(method.name);
    Program::Arguments arguments{"perplexity", file,  "--ctx",       "120",
                                 "--prefill",  "100", "--attention", std::string(method.name),
                                 "--json"};
    if (method.name == "citrus") {
      arguments.insert(arguments.end(), {"--instruction", "How was the harbour?"});
    }
    const Outcome o = program.run(arguments);
    ASSERT_EQ(o.status, 0) << o.err;
    const auto json = o.json();
    // Ltri also has its form in its name.
    const auto attention = json["attention"].get<std::string>();
    EXPECT_EQ(attention.substr(0, attention.find(':')), method.name);
    EXPECT_GT(json["tokens"].get<int64_t>(), 100);
    EXPECT_EQ(json["tokens_scored"].get<int64_t>(), json["tokens"].get<int64_t>() - 100);
    for (const char* figure : {"perplexity", "mean_nll"}) {
      // Values that are not finite are null in JSON.
      ASSERT_TRUE(json[figure].is_number()) << figure;
      EXPECT_GT(json[figure].get<double>(), 0);
    }
  }
}

TEST(Perplexity, OneWindowIsOne) {
  Program program;
  const auto file = program.folder().write("text.txt", "The harbour was quiet.");
  const Outcome o = program.run({"perplexity", file});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(testing_support::has(o.out, {", 1 window of 2,048 every 2,048\n"}));
}

TEST(Perplexity, WarnsWhereWhatIsAskedForChangesNothing) {
  Program program;
  const auto file = program.folder().write("text.txt", "The harbour was quiet.");
  const auto err = [&](Program::Arguments more) {
    more.insert(more.begin(), {"perplexity", file});
    const Outcome o = program.run(more);
    EXPECT_EQ(o.status, 0);
    return o.err;
  };
  using testing_support::has;
  EXPECT_TRUE(has(err({"--instruction", "Why?"}), {"warning: --instruction", "dense"}));
  EXPECT_TRUE(has(err({"--attention", "snapkv"}), {"warning: --attention snapkv", "--prefill"}));
  EXPECT_EQ(err({"--attention", "citrus", "--instruction", "Why?"}).find("warning"),
            std::string::npos);
}

}  // namespace
}  // namespace longhaul
