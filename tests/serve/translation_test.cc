// Requests of coding agents: 400 KiB of JSON with 60 tools become a conversation.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"
#include "serve/api/anthropic_blocks.h"
#include "serve/api/conversation.h"

namespace longhaul::serve {
namespace {

constexpr int kTranslatedTools = 60, kTurns = 40;

std::string words(size_t bytes, size_t seed) {
  std::string text;
  while (text.size() < bytes) {
    text += "line " + std::to_string(text.size() * 31 + seed) + ":\tif (\"kept\") return;\n";
  }
  return text;
}

Json schema_of(int tool) {
  Json properties = Json::object();
  for (int i = 0; i < 8; ++i) {
    properties["argument_" + std::to_string(i)] = {
        {"type", i % 2 == 0 ? "string" : "integer"},
        {"description", words(200, static_cast<size_t>(tool * 8 + i))}};
  }
  properties["mode"] = {{"type", "string"}, {"enum", {"read", "write", "append"}}};
  return {{"type", "object"}, {"properties", properties}, {"required", {"argument_0", "mode"}}};
}

/// A request of POST /v1/messages.
std::string agent_messages() {
  Json tools = Json::array(), messages = Json::array();
  for (int i = 0; i < kTranslatedTools; ++i) {
    tools.push_back({{"name", "tool_" + std::to_string(i)},
                     {"description", words(800, static_cast<size_t>(i))},
                     {"input_schema", schema_of(i)}});
  }
  for (int i = 0; i < kTurns; ++i) {
    const std::string id = "toolu_" + std::to_string(i);
    messages.push_back({{"role", i == 0 ? "user" : "assistant"},
                        {"content", Json::array({{{"type", "text"}, {"text", words(300, 5)}}})}});
    if (i > 0) {
      messages.back()["content"].push_back({{"type", "tool_use"},
                                            {"id", id},
                                            {"name", "tool_3"},
                                            {"input", {{"argument_0", words(400, 6)}}}});
      messages.push_back({{"role", "user"},
                          {"content", Json::array({{{"type", "tool_result"},
                                                    {"tool_use_id", id},
                                                    {"content", words(4200, 7)}}})}});
    }
  }
  return Json{{"model", "nano"},
              {"max_tokens", 32000},
              {"system", Json::array({{{"type", "text"}, {"text", words(12'000, 8)}}})},
              {"tools", tools},
              {"messages", messages}}
      .dump();
}

/// The least time of some calls, in milliseconds.
template <class Work>
double least_ms(Work&& work) {
  double least = 1e9;
  for (int i = 0; i < 20; ++i) {
    const Stopwatch watch;
    work();
    least = std::min(least, watch.seconds() * 1000);
  }
  return least;
}

/// The times are properties of the test (--gtest_output=xml:FILE); the limit finds only quadratic
/// behaviour.
TEST(Translation, OfALargeRequestOfAnAgent) {
  const std::string text = agent_messages();
  EXPECT_NEAR(static_cast<double>(text.size()), 400 << 10, 40 << 10);
  std::vector<std::string_view> known = anthropic_conversation_members();
  known.insert(known.end(), {"model", "max_tokens"});
  Conversation conversation;
  const double parse = least_ms([&] { EXPECT_TRUE(read_body(text, known).contains("tools")); });
  const double all = least_ms([&] {
    Json body = read_body(text, known);
    AnthropicNotes notes;
    conversation = read_anthropic_conversation(body, {}, notes);
  });
  EXPECT_EQ(conversation.tools.size(), size_t{kTranslatedTools});
  EXPECT_EQ(conversation.messages.size(), size_t{2 * kTurns});
  RecordProperty("parse_us", static_cast<int>(parse * 1000));
  RecordProperty("translate_us", static_cast<int>(all * 1000));
  EXPECT_LT(all, 1000);
}

}  // namespace
}  // namespace longhaul::serve
