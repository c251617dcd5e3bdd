// Requests in the manner of coding agents (tests/serve/agents/), over 40 turns.

#include <gtest/gtest.h>

#include "chat_server.h"

namespace longhaul::serve {
namespace {

using testing_support::agent_request;
using testing_support::Answer;
using testing_support::ChatServer;

/// The calls of a streamed reply of Messages, as blocks of the next request.
Json blocks_of(const Answer& answer, Json& usage) {
  Json blocks = Json::array();
  std::string input;
  for (const std::string& event : answer.events()) {
    const Json json = Json::parse(event);
    const std::string type = json["type"];
    if (type == "content_block_start") {
      blocks.push_back(json["content_block"]);
      input.clear();
    } else if (type == "content_block_delta") {
      const Json& delta = json["delta"];
      Json& block = blocks.back();
      input += delta.value("partial_json", "");
      for (const char* member : {"text", "thinking", "signature"}) {
        if (block.contains(member)) {
          block[member] = block[member].get<std::string>() + delta.value(member, "");
        }
      }
    } else if (type == "content_block_stop") {
      if (blocks.back()["type"] == "tool_use") blocks.back()["input"] = Json::parse(input);
    } else if (type == "message_delta") {
      usage = json["usage"];
    }
  }
  return blocks;
}

std::string volatile_header(int turn) {
  return "x-anthropic-billing-header: cc_version=2.0.61; cc_entrypoint=cli; cch=" +
         std::to_string(7919 * turn + 1) + ";";
}

TEST(AgentTrace, ClaudeCodeWorksForFortyTurns) {
  ChatServer server("qwen3");
  Json request = agent_request("claude_code.json");
  ASSERT_GE(request["tools"].size(), 20U);
  int64_t last_prompt = 0;
  for (int turn = 1; turn <= 40; ++turn) {
    request["system"][0]["text"] = volatile_header(turn);
    const std::string command = "sed -n " + std::to_string(turn) + "p src/ferry.cc";
    server.reply = "<think>\nLine " + std::to_string(turn) +
                   " is next.\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"Bash\", "
                   "\"arguments\": {\"command\": \"" +
                   command + "\"}}\n</tool_call>";
    const Answer answer = server.post("/v1/messages", request);
    ASSERT_EQ(answer.status, 200) << answer.body;
    Json usage;
    const Json blocks = blocks_of(answer, usage);
    ASSERT_EQ(blocks.size(), 3U) << answer.body;
    EXPECT_EQ(blocks[2]["name"], "Bash");
    EXPECT_EQ(blocks[2]["input"]["command"], command);
    const int64_t cached = usage["cache_read_input_tokens"];
    const int64_t prompt = cached + usage["input_tokens"].get<int64_t>() +
                           usage["cache_creation_input_tokens"].get<int64_t>();
    // Everything before the last reply is read from the cache. The template drops its reasoning.
    EXPECT_GE(cached + 24, last_prompt) << "turn " << turn;
    last_prompt = prompt;
    request["messages"].push_back({{"role", "assistant"}, {"content", blocks}});
    request["messages"].push_back(
        {{"role", "user"},
         {"content", Json::array({{{"type", "tool_result"},
                                   {"tool_use_id", blocks[2]["id"]},
                                   {"content", "    ferry.departs(" + std::to_string(turn) + ");"},
                                   {"cache_control", {{"type", "ephemeral"}}}}})}});
  }
}

/// Some versions end the last message with the number of tokens that are left, and the next request
/// does not repeat it. Only the text from there on is prefilled again.
TEST(AgentTrace, ATokenCountdownCostsItsOwnMessage) {
  ChatServer server("qwen3");
  Json request = agent_request("claude_code.json");
  server.reply =
      "<tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>";
  int64_t before_countdown = 0;
  for (int turn = 1; turn <= 10; ++turn) {
    const std::string left = "<token_countdown>" + std::to_string(200'000 - 911 * turn) +
                             " tokens left</token_countdown>";
    Json sent = request;
    sent["messages"].back()["content"].push_back({{"type", "text"}, {"text", left}});
    Json usage;
    const Answer answer = server.post("/v1/messages", sent);
    ASSERT_EQ(answer.status, 200) << answer.body;
    const Json blocks = blocks_of(answer, usage);
    ASSERT_EQ(blocks.back()["type"], "tool_use") << answer.body;
    const int64_t cached = usage["cache_read_input_tokens"];
    EXPECT_GE(cached + 24, before_countdown) << "turn " << turn;
    EXPECT_TRUE(turn == 1 || cached > 1000) << "turn " << turn;
    const Json counted = server.post("/v1/messages/count_tokens", sent).json();
    before_countdown =
        counted["input_tokens"].get<int64_t>() - testing_support::nano_tokens(left) - 12;
    request["messages"].push_back({{"role", "assistant"}, {"content", blocks}});
    request["messages"].push_back(
        {{"role", "user"},
         {"content", Json::array({{{"type", "tool_result"},
                                   {"tool_use_id", blocks.back()["id"]},
                                   {"content", "a.cc b.cc " + std::to_string(turn)}}})}});
  }
}

}  // namespace
}  // namespace longhaul::serve
