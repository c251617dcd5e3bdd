// A conversation of an agent that speaks the Responses API, in the form of Codex 0.163: the
// request of agents/codex-2026-11.json, continued over many turns.

#include <gtest/gtest.h>

#include <fstream>

#include "chat_server.h"

namespace longhaul::serve {
namespace {

using testing_support::Answer;
using testing_support::ChatServer;

Json codex_request() {
  std::ifstream in(LONGHAUL_TEST_DATA "/../serve/agents/codex-2026-11.json");
  return Json::parse(in);
}

/// Items of the reply, as Codex adds them to the next request.
Json items_of(const Answer& answer) {
  Json items = Json::array();
  std::string last;
  for (const std::string& text : answer.events()) {
    const Json event = Json::parse(text);
    last = event["type"];
    if (last == "response.output_item.done") items.push_back(event["item"]);
  }
  EXPECT_EQ(last, "response.completed") << answer.body.substr(0, 2000);
  return items;
}

int64_t cached_of(const Answer& answer, int64_t& prompt) {
  const Json usage = Json::parse(answer.events().back())["response"]["usage"];
  prompt = usage["input_tokens"];
  return usage["input_tokens_details"]["cached_tokens"];
}

std::string call_of(const std::string& name, const Json& arguments) {
  return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments.dump() +
         "}\n</tool_call>";
}

TEST(CodexTrace, FortyTurnsAreReadOnce) {
  ChatServer server("qwen3");
  Json request = codex_request();
  ASSERT_TRUE(request["input"].is_array());
  int64_t before = 0;
  for (int turn = 0; turn < 40; ++turn) {
    const std::string patch =
        "*** Begin Patch\n+line \"" + std::to_string(turn) + "\"\n*** End Patch";
    const std::string thought = "<think>\nStep " + std::to_string(turn) + ".\n</think>\n\n";
    switch (turn % 4) {
      case 0:
        server.reply = thought + "I look.\n" +
                       call_of("exec_command", {{"cmd", "ls " + std::to_string(turn)}}) + "\n" +
                       call_of("mcp__notes.read_note", {{"id", "n"}, {"text", ""}});
        break;
      case 1:
        server.reply = thought + call_of("apply_patch", {{"input", patch}});
        break;
      case 2:
        server.reply = thought + call_of("multi_agent_v1.close_agent", {{"target", "a"}});
        break;
      default:
        server.reply = thought + "Done with step " + std::to_string(turn) + ".";
    }
    request["client_metadata"]["x-codex-turn-metadata"] = "turn " + std::to_string(turn);
    const Answer answer = server.post("/v1/responses", request);
    ASSERT_EQ(answer.status, 200) << answer.body;
    int64_t prompt = 0;
    const int64_t cached = cached_of(answer, prompt);
    // Templates drop the thoughts of earlier turns, so that the last turn is read again.
    EXPECT_GE(cached, before * 8 / 10) << "turn " << turn << " of " << prompt;
    before = prompt;

    const Json items = items_of(answer);
    ASSERT_FALSE(items.empty());
    EXPECT_EQ(items[0]["type"], "reasoning");
    for (const Json& item : items) {
      request["input"].push_back(item);
      const std::string type = item["type"];
      if (type == "custom_tool_call") {
        EXPECT_EQ(item["input"], patch);
      }
      if (type == "function_call" && item["name"] != "exec_command") {
        EXPECT_TRUE(item.contains("namespace")) << item;
      }
    }
    for (const Json& item : items) {
      const std::string type = item["type"];
      if (type != "custom_tool_call" && type != "function_call") continue;
      request["input"].push_back({{"type", type + "_output"},
                                  {"call_id", item["call_id"]},
                                  {"output", "Result of turn " + std::to_string(turn)}});
    }
    if (turn % 4 == 3) {
      request["input"].push_back({{"role", "user"}, {"content", "Next, please."}});
    }
  }
}

}  // namespace
}  // namespace longhaul::serve
