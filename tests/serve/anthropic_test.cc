// Anthropic's Messages API, without sockets.

#include <gtest/gtest.h>

#include "chat_server.h"
#include "serve/api/anthropic_blocks.h"
#include "serve/api/request.h"

namespace longhaul::serve {
namespace {

using testing_support::Answer;
using testing_support::ChatServer;
using testing_support::nano_tokens;
using testing_support::user_says;

const char* const kMessages = "/v1/messages";

Json message_tools() {
  return Json::parse(R"([
    {"name": "weather", "description": "Tells the weather.", "input_schema": {"type": "object",
      "properties": {"city": {"enum": ["Oslo"]}}, "required": ["city"]}},
    {"name": "now", "input_schema": {"type": "object"}}])");
}

Json message_body(const Json& more = Json::object()) {
  Json body = {{"model", "nano"}, {"max_tokens", 100}, {"messages", user_says("Hi")}};
  body.update(more);
  return body;
}

struct StreamEvent {
  std::string name;
  Json data;
};

/// The events of a stream, with their names.
std::vector<StreamEvent> stream_events(const Answer& answer) {
  std::vector<StreamEvent> all;
  for (size_t at = 0; (at = answer.body.find("event: ", at)) != std::string::npos;) {
    const size_t line = answer.body.find('\n', at);
    const size_t end = answer.body.find("\n\n", line);
    const std::string name = answer.body.substr(at + 7, line - at - 7);
    all.push_back({name, Json::parse(answer.body.substr(line + 7, end - line - 7))});
    EXPECT_EQ(all.back().data["type"], name);
    at = end;
  }
  return all;
}

/// The message that a client assembles from a stream; checks the order of events.
Json assembled_message(const Answer& answer) {
  Json message;
  std::vector<std::string> inputs;
  int open = -1;
  for (const auto& [name, data] : stream_events(answer)) {
    if (name == "message_start") {
      EXPECT_TRUE(message.is_null());
      message = data["message"];
      EXPECT_TRUE(message["stop_reason"].is_null());
    } else if (name == "content_block_start") {
      EXPECT_EQ(open, -1);
      open = data["index"];
      EXPECT_EQ(open, message["content"].size());
      message["content"].push_back(data["content_block"]);
      inputs.emplace_back();
    } else if (name == "content_block_delta") {
      EXPECT_EQ(data["index"], open);
      Json& block = message["content"].back();
      const Json& delta = data["delta"];
      if (delta["type"] == "input_json_delta") inputs.back() += delta["partial_json"];
      for (const char* member : {"text", "thinking", "signature"}) {
        if (delta["type"] == std::string(member) + "_delta") {
          block[member] = block[member].get<std::string>() + delta[member].get<std::string>();
        }
      }
    } else if (name == "content_block_stop") {
      EXPECT_EQ(data["index"], open);
      open = -1;
      if (!inputs.back().empty()) {
        message["content"].back()["input"] = Json::parse(inputs.back(), nullptr, false);
      }
    } else if (name == "message_delta") {
      message["stop_reason"] = data["delta"]["stop_reason"];
      message["stop_sequence"] = data["delta"]["stop_sequence"];
      message["usage"] = data["usage"];
    }
  }
  EXPECT_EQ(stream_events(answer).back().name, "message_stop");
  return message;
}

TEST(Messages, AnswerAsOneObject) {
  ChatServer server("");
  const Answer answer = server.post(kMessages, message_body({{"system", "Be brief."}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_EQ(json["type"], "message");
  EXPECT_EQ(json["role"], "assistant");
  EXPECT_EQ(json["model"], "nano");
  EXPECT_TRUE(json["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(json["content"], Json::array({{{"type", "text"}, {"text", server.reply}}}));
  EXPECT_EQ(json["stop_reason"], "end_turn");
  EXPECT_TRUE(json["stop_sequence"].is_null());
  EXPECT_GT(json["usage"]["input_tokens"], 0);
  EXPECT_GT(json["usage"]["output_tokens"], 0);
  EXPECT_EQ(json["usage"]["cache_read_input_tokens"], 0);
}

TEST(Messages, AreStreamedInBlocks) {
  ChatServer server("qwen3");
  server.reply =
      "<think>\nHe asks.\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": "
      "{\"city\": \"Oslo\"}}\n</tool_call>";
  const Json body = message_body({{"tools", message_tools()}});
  Json streamed = body;
  streamed["stream"] = true;
  const Answer answer = server.post(kMessages, streamed);
  const auto events = stream_events(answer);
  ASSERT_GT(events.size(), 5U) << answer.body;
  EXPECT_EQ(events[0].name, "message_start");
  EXPECT_EQ(events[1].name, "ping");
  EXPECT_GT(events[1].data["longhaul_progress"]["total"], 0);
  const Json message = assembled_message(answer);
  const Json whole = server.post(kMessages, body).json();
  ASSERT_EQ(message["content"].size(), 3U) << message;
  EXPECT_EQ(message["content"][0]["thinking"], "He asks.");
  EXPECT_NE(message["content"][0]["signature"], "");
  EXPECT_EQ(message["content"][1]["text"], "I look.");
  EXPECT_EQ(message["content"][2]["name"], "weather");
  EXPECT_EQ(message["content"][2]["input"], Json({{"city", "Oslo"}}));
  EXPECT_EQ(message["stop_reason"], "tool_use");
  EXPECT_EQ(whole["content"][2]["input"], message["content"][2]["input"]);
  EXPECT_EQ(whole["stop_reason"], "tool_use");
  EXPECT_EQ(whole["usage"]["output_tokens"], message["usage"]["output_tokens"]);
}

TEST(Messages, TellWhyTheyStop) {
  ChatServer server("");
  Json json = server.post(kMessages, message_body({{"stop_sequences", {"there"}}})).json();
  EXPECT_EQ(json["stop_reason"], "stop_sequence");
  EXPECT_EQ(json["stop_sequence"], "there");
  EXPECT_EQ(json["content"][0]["text"], "Hello ");
  json = server.post(kMessages, message_body({{"max_tokens", 2}})).json();
  EXPECT_EQ(json["stop_reason"], "max_tokens");
}

TEST(Messages, ACutCallIsNoCall) {
  ChatServer server("qwen2.5");
  const std::string cut = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"ci";
  server.reply = cut + "ty\": \"Oslo\"}}\n</tool_call>";
  Json body = message_body({{"tools", message_tools()}, {"max_tokens", nano_tokens(cut)}});
  const Json whole = server.post(kMessages, body).json();
  EXPECT_EQ(whole["stop_reason"], "max_tokens");
  EXPECT_EQ(whole["content"][0]["type"], "text") << whole;
  body["stream"] = true;
  EXPECT_EQ(assembled_message(server.post(kMessages, body))["stop_reason"], "max_tokens");
}

TEST(Messages, ChoicesOfTools) {
  ChatServer server("qwen2.5");
  server.reply = "No.";
  const auto answered = [&](const Json& choice) {
    // The mock engine chooses the first token with the prompt, which the prefix cache would keep.
    const Json fields = {
        {"tools", message_tools()}, {"tool_choice", choice}, {"system", server.reply}};
    return server.post(kMessages, message_body(fields)).json();
  };
  const Json named = answered({{"type", "tool"}, {"name", "weather"}});
  EXPECT_EQ(named["content"][0]["name"], "weather") << named;
  EXPECT_EQ(named["content"][0]["input"], Json({{"city", "Oslo"}}));
  EXPECT_TRUE(named["content"][0]["id"].get<std::string>().starts_with("toolu_"));
  EXPECT_EQ(answered({{"type", "none"}})["content"][0]["text"], "No.");
  server.reply = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  EXPECT_EQ(answered({{"type", "any"}})["content"][0]["name"], "now");
  server.reply += "\n" + server.reply;
  EXPECT_EQ(answered({{"type", "auto"}})["content"].size(), 2U);
  EXPECT_EQ(answered({{"type", "auto"}, {"disable_parallel_tool_use", true}})["content"].size(),
            1U);
}

/// The conversation of a body in the internal form.
Conversation read_blocks(Json body, AnthropicOptions options = {}) {
  AnthropicNotes notes;
  Conversation made = read_anthropic_conversation(body, options, notes);
  return made;
}

TEST(Messages, BlocksBecomeMessages) {
  const Json body = Json::parse(R"({
    "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2; cch=9f3;"},
               {"type": "text", "text": "You are an agent."},
               {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
      {"role": "user", "content": [{"type": "text", "text": "Weather?"},
        {"type": "document", "title": "Notes", "source": {"type": "text", "media_type":
         "text/plain", "data": "It rained."}, "cache_control": {"type": "ephemeral"}}]},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}},
        {"type": "tool_use", "id": "t2", "name": "now", "input": {}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Rain"}]},
        {"type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": "no clock"},
        {"type": "text", "text": "Go on."}]}]})");
  const Conversation made = read_blocks(body);
  ASSERT_EQ(made.messages.size(), 6U) << made.messages;
  EXPECT_EQ(made.messages[0]["content"], "You are an agent.\nBe brief.");
  EXPECT_EQ(made.messages[1]["content"], "Weather?\nNotes\nIt rained.");
  EXPECT_EQ(made.messages[2]["reasoning_content"], "Hm.");
  EXPECT_EQ(made.messages[2]["content"], "I look.");
  EXPECT_EQ(made.messages[2]["tool_calls"][0]["function"]["arguments"], Json({{"city", "Oslo"}}));
  EXPECT_EQ(made.messages[3]["role"], "tool");
  EXPECT_EQ(made.messages[3]["content"], "Rain");
  EXPECT_EQ(made.messages[3]["name"], "weather");
  EXPECT_EQ(made.messages[4]["content"], "Error: no clock");
  EXPECT_EQ(made.messages[5]["content"], "Go on.");
  ASSERT_EQ(made.marks.size(), 2U);
  EXPECT_EQ(made.marks[0].message, 0U);
  EXPECT_EQ(made.marks[0].bytes, std::string("You are an agent.\nBe brief.").size());
  EXPECT_EQ(made.marks[1].message, 1U);
  EXPECT_TRUE(read_blocks(body, {true})
                  .messages[0]["content"]
                  .get<std::string>()
                  .starts_with("x-anthropic-billing-header"));
}

TEST(Messages, CacheMarksBecomeTokenOffsets) {
  ChatServer server("qwen2.5");
  const Json mark = {{"type", "ephemeral"}};
  Json body = message_body();
  body["system"] =
      Json::array({{{"type", "text"}, {"text", "You are an agent."}, {"cache_control", mark}}});
  body["messages"] = Json::array(
      {{{"role", "user"},
        {"content", Json::array({{{"type", "text"}, {"text", "First."}},
                                 {{"type", "text"}, {"text", "Second."}, {"cache_control", mark}},
                                 {{"type", "text"}, {"text", "Third."}}})}}});
  const Conversation conversation = read_blocks(body);
  const ConversationPrompt prompt = conversation_prompt(server.model(), conversation, false);
  ASSERT_EQ(prompt.checkpoints.size(), 2U);
  const auto before = [&](int64_t offset) {
    return server.model().engine->tokenizer().decode(
        std::span(prompt.tokens).first(static_cast<size_t>(offset)), false);
  };
  EXPECT_TRUE(before(prompt.checkpoints[0]).ends_with("You are an agent."))
      << before(prompt.checkpoints[0]);
  EXPECT_TRUE(before(prompt.checkpoints[1]).ends_with("First.\nSecond."))
      << before(prompt.checkpoints[1]);
  const Json usage = server.post(kMessages, body).json()["usage"];
  EXPECT_EQ(usage["cache_creation_input_tokens"], prompt.checkpoints[1]);
  EXPECT_EQ(
      usage["input_tokens"].get<int64_t>() + usage["cache_creation_input_tokens"].get<int64_t>(),
      std::ssize(prompt.tokens));
}

TEST(Messages, TheNextTurnReadsFromTheCache) {
  ChatServer server("");
  Json messages = user_says("Tell me about ferries, please, at length.");
  server.post(kMessages, message_body({{"messages", messages}}));
  messages.push_back({{"role", "assistant"}, {"content", server.reply}});
  messages.push_back({{"role", "user"}, {"content", "And ships?"}});
  const Json json = server.post(kMessages, message_body({{"messages", messages}})).json();
  EXPECT_GT(json["usage"]["cache_read_input_tokens"], 16);
  const Json counted = server.post("/v1/messages/count_tokens", {{"messages", messages}}).json();
  EXPECT_EQ(counted["input_tokens"], json["usage"]["input_tokens"].get<int64_t>() +
                                         json["usage"]["cache_read_input_tokens"].get<int64_t>());
}

TEST(Messages, TheUserIdNamesTheConversation) {
  ChatServer server("");
  const auto name = [&](const Json& more) {
    http::HttpRequest request;
    request.path = kMessages;
    request.body = message_body(more).dump();
    return read_messages(server.model(), request, "").jobs.at(0)->conversation;
  };
  const Json ada = {{"metadata", {{"user_id", "user_ada_session_1"}}}, {"system", "You code."}};
  EXPECT_EQ(name(Json::object()), "");
  EXPECT_NE(name(ada), "");
  EXPECT_EQ(name(ada), name(ada));
  Json other = ada;
  other["metadata"]["user_id"] = "user_ada_session_2";
  EXPECT_NE(name(other), name(ada));
  // A small request of the same agent, such as one for a title, is another conversation.
  Json title = ada;
  title["system"] = "Write a title of three words.";
  EXPECT_NE(name(title), name(ada));
}

TEST(Messages, TheBillingHeaderIsLeftOutAndThisIsLoggedOnce) {
  int told = 0;
  ServiceOptions options;
  std::mutex mutex;
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    if (line.find("billing header") != std::string::npos) ++told;
  };
  ChatServer server("", std::move(options));
  const auto tokens = [&](const std::string& header) {
    return server
        .post(kMessages, message_body({{"system",
                                        {{{"type", "text"}, {"text", header}},
                                         {{"type", "text"}, {"text", "Be brief."}}}}}))
        .json()["usage"]["input_tokens"]
        .get<int64_t>();
  };
  const int64_t first = tokens("x-anthropic-billing-header: cch=1;");
  const int64_t second = tokens("x-anthropic-billing-header: cch=22222222;");
  EXPECT_GT(first, 0);
  EXPECT_EQ(told, 1);
  const int64_t plain = server
                            .post("/v1/messages/count_tokens",
                                  {{"messages", user_says("Hi")}, {"system", "Be brief."}})
                            .json()["input_tokens"];
  EXPECT_EQ(first, plain);
  EXPECT_LE(second, plain);
}

TEST(Messages, ALastMessageOfTheAssistantIsContinued) {
  ChatServer server("");
  Json messages = user_says("Greet me.");
  messages.push_back({{"role", "assistant"}, {"content", "Well:"}});
  const Json json = server.post(kMessages, message_body({{"messages", messages}})).json();
  EXPECT_EQ(json["content"][0]["text"], server.reply);
}

TEST(Messages, ThinkingIsSwitchedAndEndsWithItsBudget) {
  {
    ChatServer server("qwq");  // whose prompt begins the reasoning
    server.reply = "One two three four five six seven eight nine ten.";
    const Json thinking = {{"type", "enabled"}, {"budget_tokens", 5}};
    const Json json = server.post(kMessages, message_body({{"thinking", thinking}})).json();
    ASSERT_EQ(json["content"].size(), 2U) << json;
    EXPECT_EQ(json["content"][0]["type"], "thinking");
    const std::string thought = json["content"][0]["thinking"];
    EXPECT_TRUE(server.reply.starts_with(thought)) << thought;
    EXPECT_LT(thought.size(), 40U);
    EXPECT_EQ(json["content"][1]["text"], server.reply) << "the mock begins again";
  }
  ChatServer server("qwen3");
  const auto count = [&](const char* type) {
    return server
        .post("/v1/messages/count_tokens",
              {{"messages", user_says("Hi")}, {"thinking", {{"type", type}}}})
        .json()["input_tokens"]
        .get<int64_t>();
  };
  EXPECT_GT(count("disabled"), count("enabled")) << "the template closes an empty thought";
}

TEST(Messages, HoldTheReplyToASchema) {
  ChatServer server("");
  const Json format = {{"type", "json_schema"}, {"schema", {{"enum", {"yes"}}}}};
  for (const Json& more :
       {Json{{"output_format", format}}, Json{{"output_config", {{"format", format}}}}}) {
    const Json json = server.post(kMessages, message_body(more)).json();
    EXPECT_EQ(json["content"][0]["text"], "\"yes\"") << json;
  }
}

TEST(Messages, WrongRequestsAreRefusedByName) {
  ChatServer server("qwen2.5");
  const auto refused = [&](const Json& more) {
    Json body = message_body();
    body.update(more);
    const Answer answer = server.post(kMessages, body);
    EXPECT_EQ(answer.status, 400) << more << answer.body;
    const Json json = answer.json();
    EXPECT_EQ(json["type"], "error");
    EXPECT_EQ(json["error"]["type"], "invalid_request_error");
    return json["error"]["message"].get<std::string>();
  };
  const auto turn = [](const char* blocks) {
    return Json{{"messages", Json::parse(std::string(R"([{"role": "user", "content": "?"},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
      {"role": "user", "content": )") + blocks +
                                         "}]")}};
  };
  EXPECT_EQ(refused({{"max_tokens", nullptr}}), "max_tokens: is missing");
  EXPECT_EQ(refused({{"messages", nullptr}}), "messages: is missing");
  EXPECT_EQ(refused({{"stream", "yes"}}), "stream: is not true or false");
  EXPECT_EQ(refused(turn(R"([{"type": "tool_result", "tool_use_id": "b", "content": ""}])")),
            "messages[2].content[0].tool_use_id: the message before has no tool_use with the id "
            "'b'");
  EXPECT_EQ(refused(turn(R"([{"type": "tool_result", "tool_use_id": "a"},
                             {"type": "tool_result", "tool_use_id": "a"}])")),
            "messages[2].content[1].tool_use_id: is a second result for the call 'a'");
  EXPECT_EQ(refused(turn(R"([{"type": "image", "source": {}}])")),
            "messages[2].content[0]: is an image, and this model reads text only");
  EXPECT_EQ(refused(turn(R"([{"type": "tool_result", "tool_use_id": "a", "content":
                             [{"type": "image"}]}])")),
            "messages[2].content[0].content[0]: is an image, and this model reads text only");
  EXPECT_EQ(refused(turn(R"([{"type": "document", "source": {"type": "base64"}}])")),
            "messages[2].content[0].source.type: 'base64' cannot be read here: send the file to "
            "/v1/files and name its file_id, or send the text of the document");
  EXPECT_EQ(refused(turn(R"([{"type": "hologram"}])")),
            "messages[2].content[0].type: 'hologram' is unknown here");
  EXPECT_EQ(
      refused({{"tools", {{{"name", "my tool"}, {"input_schema", Json::object()}}}}}).substr(0, 23),
      "tools[0].function.name:");
  EXPECT_EQ(refused({{"tools", {{{"name", "f"}}}}}), "tools[0].input_schema: is missing");
  EXPECT_EQ(
      refused({{"tools", message_tools()}, {"tool_choice", {{"type", "tool"}, {"name", "rain"}}}}),
      "tool_choice: no tool is named 'rain'");
  EXPECT_EQ(refused({{"tool_choice", {{"type", "any"}}}}),
            "tool_choice: demands a call, and there are no tools");
  EXPECT_EQ(refused({{"thinking", {{"type", "deep"}}}}),
            "thinking.type: 'deep' is not enabled, adaptive or disabled");
  EXPECT_EQ(refused({{"stop_sequences", "x"}}), "stop_sequences: is no list of texts");
  EXPECT_EQ(refused({{"system", 5}}), "system: is neither a text nor a list of blocks");
  EXPECT_EQ(refused({{"messages", {{{"role", "robot"}, {"content", "?"}}}}}),
            "messages[0].role: 'robot' is neither user nor assistant");
}

TEST(Messages, ErrorsHaveTheFormOfTheApi) {
  SchedulerOptions small;
  small.context = 20;
  ChatServer server("", {}, small);
  Json body = message_body({{"messages", user_says("A long text. A long text. A long text.")}});
  const Answer too_long = server.post(kMessages, body);
  EXPECT_EQ(too_long.status, 400);
  EXPECT_EQ(too_long.json()["type"], "error");
  EXPECT_NE(too_long.json()["error"]["message"].get<std::string>().find("prompt is too long"),
            std::string::npos);
  body["stream"] = true;
  EXPECT_EQ(server.post(kMessages, body).status, 400) << "a refusal comes before the stream";
  const Json cut = server.post(kMessages, message_body({{"max_tokens", 32'000}})).json();
  EXPECT_EQ(cut["type"], "message") << "the reply gets what the context leaves: " << cut;
  const Answer unknown = server.post(kMessages, message_body({{"model", "other"}}));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json()["error"]["type"], "not_found_error");
  const Answer broken = server.ask("POST", kMessages, "{");
  EXPECT_EQ(broken.status, 400);
  EXPECT_EQ(broken.json()["error"]["type"], "invalid_request_error");
}

TEST(Messages, HostedToolsAreLeftOutWithAWarning) {
  ChatServer server("qwen2.5");
  Json tools = message_tools();
  tools.push_back({{"type", "web_search_20250305"}, {"name", "web_search"}});
  const Json json = server.post(kMessages, message_body({{"tools", tools}})).json();
  EXPECT_EQ(json["longhaul"]["warnings"][0],
            "tools[2]: tools of the type web_search_20250305 are left out, because this server "
            "runs none");
}

TEST(Messages, HaveTheWordsAndTheUsageOfChat) {
  ChatServer server("qwen3");
  server.reply = "<think>\nHe asks.\n</think>\n\nRain.";
  const Json chat =
      server
          .post("/v1/chat/completions", {{"messages",
                                          {{{"role", "system"}, {"content", "Be brief."}},
                                           {{"role", "user"}, {"content", "Hi"}}}},
                                         {"cache_prompt", false}})
          .json();
  const Json message = server.post(kMessages, message_body({{"system", "Be brief."}})).json();
  EXPECT_EQ(message["content"][0]["thinking"], chat["choices"][0]["message"]["reasoning_content"]);
  EXPECT_EQ(message["content"][1]["text"], chat["choices"][0]["message"]["content"]);
  EXPECT_EQ(message["usage"]["input_tokens"], chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(message["usage"]["output_tokens"], chat["usage"]["completion_tokens"]);
}

}  // namespace
}  // namespace longhaul::serve
