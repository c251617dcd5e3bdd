// Tools and reasoning in OpenAI's Chat API.

#include <gtest/gtest.h>

#include <map>

#include "chat_server.h"

namespace longhaul::serve {
namespace {

using testing_support::Answer;
using testing_support::ChatServer;
using testing_support::nano_tokens;
using testing_support::user_says;
using testing_support::weather_tools;

const char* const kPath = "/v1/chat/completions";

Json tool_body(const Json& more = Json::object()) {
  Json body = {{"messages", user_says("Weather in Oslo?")}, {"tools", weather_tools()}};
  body.update(more);
  return body;
}

/// The reply that a client assembles from the events of a stream.
struct Assembled {
  std::string content, reasoning, finish;
  struct Call {
    std::string id, name, arguments;
    int pieces = 0;
  };
  std::map<int, Call> calls;
};

Assembled assembled(const Answer& answer) {
  Assembled made;
  for (const std::string& event : answer.events()) {
    if (event == "[DONE]") break;
    const Json json = Json::parse(event);
    if (json["choices"].empty()) continue;
    const Json& choice = json["choices"][0];
    const Json& delta = choice["delta"];
    made.content += delta.value("content", "");
    made.reasoning += delta.value("reasoning_content", "");
    for (const Json& part : delta.value("tool_calls", Json::array())) {
      Assembled::Call& call = made.calls[part["index"]];
      if (part.contains("id")) {
        call.id = part["id"];
        call.name = part["function"]["name"];
        EXPECT_EQ(part["type"], "function");
      }
      call.arguments += part["function"].value("arguments", "");
      ++call.pieces;
    }
    if (choice["finish_reason"].is_string()) made.finish = choice["finish_reason"];
  }
  return made;
}

const char* const kTwoCalls =
    "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
    "</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";

TEST(ChatTools, CallsComeAsPartsOfTheMessage) {
  ChatServer server("qwen2.5");
  server.reply = kTwoCalls;
  const Json json = server.post(kPath, tool_body()).json();
  const Json& choice = json["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "I look.");
  ASSERT_EQ(choice["message"]["tool_calls"].size(), 2U) << json;
  const Json& call = choice["message"]["tool_calls"][0];
  EXPECT_EQ(call["type"], "function");
  EXPECT_EQ(call["function"]["name"], "weather");
  EXPECT_EQ(Json::parse(call["function"]["arguments"].get<std::string>()),
            Json({{"city", "Oslo"}}));
  EXPECT_TRUE(call["id"].get<std::string>().starts_with("call_"));
  EXPECT_NE(call["id"], choice["message"]["tool_calls"][1]["id"]);
}

TEST(ChatTools, CallsAreStreamedInPieces) {
  ChatServer server("qwen2.5");
  server.reply = kTwoCalls;
  const Assembled made = assembled(server.post(kPath, tool_body({{"stream", true}})));
  EXPECT_EQ(made.content, "I look.");
  EXPECT_EQ(made.finish, "tool_calls");
  ASSERT_EQ(made.calls.size(), 2U);
  EXPECT_EQ(made.calls.at(0).name, "weather");
  EXPECT_EQ(Json::parse(made.calls.at(0).arguments), Json({{"city", "Oslo"}}));
  EXPECT_GT(made.calls.at(0).pieces, 2);
  EXPECT_EQ(made.calls.at(1).name, "now");
  EXPECT_EQ(made.calls.at(1).arguments, "{}");
}

TEST(ChatTools, OneCallEndsTheReplyWhereParallelCallsAreOff) {
  ChatServer server("qwen2.5");
  server.reply = kTwoCalls;
  for (const bool stream : {false, true}) {
    const Answer answer =
        server.post(kPath, tool_body({{"parallel_tool_calls", false}, {"stream", stream}}));
    if (stream) {
      EXPECT_EQ(assembled(answer).calls.size(), 1U);
      EXPECT_EQ(assembled(answer).finish, "tool_calls");
      continue;
    }
    const Json json = answer.json();
    EXPECT_EQ(json["choices"][0]["message"]["tool_calls"].size(), 1U);
    EXPECT_EQ(json["choices"][0]["finish_reason"], "tool_calls");
    EXPECT_LT(json["usage"]["completion_tokens"], nano_tokens(kTwoCalls))
        << "the engine stops as well";
  }
}

TEST(ChatTools, ACutCallIsNotPresentedAsComplete) {
  ChatServer server("qwen2.5");
  server.reply = kTwoCalls;
  const std::string until = "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"ci";
  const int64_t tokens = nano_tokens(until);
  const Json json = server.post(kPath, tool_body({{"max_tokens", tokens}})).json();
  const Json& choice = json["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_FALSE(choice["message"].contains("tool_calls"));
  EXPECT_NE(choice["message"]["content"].get<std::string>().find("{\"name\": \"weather\""),
            std::string::npos)
      << "what the model wrote is not lost";
  EXPECT_EQ(json["longhaul"]["warnings"][0], "the reply was cut inside of a tool call");

  const Assembled made =
      assembled(server.post(kPath, tool_body({{"max_tokens", tokens}, {"stream", true}})));
  EXPECT_EQ(made.finish, "length");
  EXPECT_EQ(made.calls.at(0).name, "weather");
  EXPECT_FALSE(Json::accept(made.calls.at(0).arguments));
}

TEST(ChatTools, ADemandedCallIsHeldToItsSchema) {
  for (const char* name : {"qwen2.5", "llama3.1", "mistral-nemo", "gpt-oss", "smollm2"}) {
    ChatServer server(name);
    server.reply = "I will not call anything.";
    const Json choice = {{"type", "function"}, {"function", {{"name", "weather"}}}};
    const Json json =
        server.post(kPath, tool_body({{"tool_choice", choice}, {"max_tokens", 200}})).json();
    ASSERT_TRUE(json.contains("choices")) << json;
    const Json& message = json["choices"][0]["message"];
    ASSERT_TRUE(message.contains("tool_calls")) << name << json;
    EXPECT_EQ(message["tool_calls"][0]["function"]["name"], "weather") << name;
    EXPECT_EQ(Json::parse(message["tool_calls"][0]["function"]["arguments"].get<std::string>()),
              Json({{"city", "Oslo"}}))
        << name;
    EXPECT_EQ(json["choices"][0]["finish_reason"], "tool_calls") << name;
  }
}

TEST(ChatTools, RequiredIsAnyFunction) {
  ChatServer server("qwen2.5");
  server.reply = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  const Json json = server.post(kPath, tool_body({{"tool_choice", "required"}})).json();
  EXPECT_EQ(json["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "now") << json;
}

TEST(ChatTools, NoneMeansThatNoToolIsOffered) {
  ChatServer server("qwen2.5");
  server.reply = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  const Json json = server.post(kPath, tool_body({{"tool_choice", "none"}})).json();
  EXPECT_EQ(json["choices"][0]["message"]["content"], server.reply);
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
  const std::string prompt =
      server.post("/apply-template", tool_body({{"tool_choice", "none"}})).json()["prompt"];
  EXPECT_EQ(prompt.find("weather"), std::string::npos);
}

TEST(ChatTools, ACallIsHeldToItsSchemaFromItsMarkOn) {
  ChatServer server("qwen2.5");
  // The model would call an unknown function with a wrong argument.
  server.reply = "Well.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}";
  const Json json = server.post(kPath, tool_body({{"max_tokens", 200}})).json();
  const Json& message = json["choices"][0]["message"];
  ASSERT_TRUE(message.contains("tool_calls")) << json;
  EXPECT_EQ(Json::parse(message["tool_calls"][0]["function"]["arguments"].get<std::string>()),
            Json({{"city", "Oslo"}}));
}

TEST(ChatTools, ASchemaThatIsNotSupportedHoldsToAnObject) {
  ChatServer server("qwen2.5");
  server.reply = "<tool_call>\n{\"name\": \"odd\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const Json tools = Json::parse(R"([{"type": "function", "function": {"name": "odd",
    "parameters": {"type": "object", "not": {"required": ["b"]}}}}])");
  const Json json = server.post(kPath, tool_body({{"tools", tools}})).json();
  EXPECT_EQ(json["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "odd") << json;
  const Answer demanded =
      server.post(kPath, tool_body({{"tools", tools}, {"tool_choice", "required"}}));
  EXPECT_EQ(demanded.status, 400);
  EXPECT_EQ(demanded.json()["error"]["message"],
            "tools: tool 'odd': JSON schema: unsupported keyword not");
}

TEST(ChatTools, ReasoningIsApartFromTheText) {
  ChatServer server("qwen3");
  server.reply = "<think>\nHe asks.\n</think>\n\nRain.";
  const Json json = server.post(kPath, {{"messages", user_says("Weather?")}}).json();
  const Json& message = json["choices"][0]["message"];
  EXPECT_EQ(message["content"], "Rain.");
  EXPECT_EQ(message["reasoning_content"], "He asks.");
  const Assembled made =
      assembled(server.post(kPath, {{"messages", user_says("Weather?")}, {"stream", true}}));
  EXPECT_EQ(made.content, "Rain.");
  EXPECT_EQ(made.reasoning, "He asks.");
  const Json plain =
      server.post(kPath, {{"messages", user_says("Weather?")}, {"reasoning_format", "none"}})
          .json();
  EXPECT_EQ(plain["choices"][0]["message"]["content"], server.reply);
}

TEST(ChatTools, ReasoningThatThePromptHasBegunIsReasoning) {
  ChatServer server("qwq");
  server.reply = "He asks.\n</think>\n\nRain.";
  const Json json = server.post(kPath, {{"messages", user_says("Weather?")}}).json();
  EXPECT_EQ(json["choices"][0]["message"]["reasoning_content"], "He asks.");
  EXPECT_EQ(json["choices"][0]["message"]["content"], "Rain.");
  // A reply with a form does not begin with reasoning.
  server.reply = "\"yes\"";
  const Json formed =
      server.post(kPath, {{"messages", user_says("Rain?")}, {"json_schema", {{"enum", {"yes"}}}}})
          .json();
  EXPECT_EQ(formed["choices"][0]["message"]["content"], "\"yes\"") << formed;
}

TEST(ChatTools, EffortAndVariablesReachTheTemplate) {
  ChatServer server("qwen3");
  const auto prompt = [&](const Json& more) {
    Json body = {{"messages", user_says("Weather?")}};
    body.update(more);
    return server.post("/apply-template", body).json()["prompt"].get<std::string>();
  };
  EXPECT_EQ(prompt(Json::object()).find("<think>"), std::string::npos);
  EXPECT_NE(prompt({{"reasoning_effort", "none"}}).find("<think>\n\n</think>"), std::string::npos);
  EXPECT_NE(prompt({{"chat_template_kwargs", {{"enable_thinking", false}}}}).find("</think>"),
            std::string::npos);
  server.model().use_template(testing_support::template_named("gpt-oss"));
  EXPECT_NE(prompt({{"reasoning_effort", "high"}}).find("Reasoning: high"), std::string::npos);
}

TEST(ChatTools, ResultsGoThroughTheTemplate) {
  const Json messages = Json::parse(R"([
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
      "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "It rains."}])");
  const std::map<std::string, std::vector<std::string>> expected = {
      {"qwen2.5", {"{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}", "It rains."}},
      {"llama3.1", {"\"parameters\": {\"city\": \"Oslo\"}", "It rains."}},
      {"mistral-nemo", {"{\"city\": \"Oslo\"}", "It rains."}},
      {"gpt-oss", {"to=functions.weather", "It rains."}},
      {"smollm2",
       {"{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}",
        "Result of weather:\nIt rains."}}};
  for (const auto& [name, texts] : expected) {
    ChatServer server(name);
    const Answer answer = server.post("/apply-template", tool_body({{"messages", messages}}));
    ASSERT_EQ(answer.status, 200) << name << answer.body;
    const std::string prompt = answer.json()["prompt"];
    for (const std::string& text : texts) {
      EXPECT_NE(prompt.find(text), std::string::npos) << name << ": " << text << "\n" << prompt;
    }
    EXPECT_NE(prompt.find("Tells the weather."), std::string::npos) << name;
  }
}

TEST(ChatTools, AModelWithoutAFormOfItsOwnWritesAnObject) {
  ChatServer server("");
  server.reply = "{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}";
  const Json json = server.post(kPath, tool_body()).json();
  EXPECT_EQ(json["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "weather") << json;
  server.reply = "{\"name\": \"unknown\", \"arguments\": {}}";
  const Json other = server.post(kPath, tool_body()).json();
  EXPECT_EQ(other["choices"][0]["message"]["content"], server.reply);
}

TEST(ChatTools, WrongToolsAreRefusedByName) {
  ChatServer server("qwen2.5");
  const auto refused = [&](const Json& more) {
    const Answer answer = server.post(kPath, tool_body(more));
    EXPECT_EQ(answer.status, 400) << more << answer.body;
    return answer.json()["error"]["message"].get<std::string>();
  };
  const auto named = [](const std::string& name) {
    return Json::array({{{"type", "function"}, {"function", {{"name", name}}}}});
  };
  EXPECT_EQ(refused({{"tools", 1}}), "tools: is no list of tools");
  EXPECT_EQ(refused({{"tools", named("my tool")}}).substr(0, 29), "tools[0].function.name: 'my t");
  Json many = Json::array();
  for (int i = 0; i < 10'000; ++i) many.push_back(named("f" + std::to_string(i))[0]);
  EXPECT_EQ(refused({{"tools", many}}), "tools: 10000 tools; at most 512");
  EXPECT_EQ(refused({{"tools", {{{"type", "web_search"}}}}}),
            "tools[0].type: is no function, and this server runs no tools of its own");
  EXPECT_EQ(refused({{"tools", {named("f")[0], named("f")[0]}}}),
            "tools[1].function.name: 'f' occurs twice");
  EXPECT_EQ(refused({{"tool_choice", {{"type", "function"}, {"function", {{"name", "rain"}}}}}}),
            "tool_choice: no tool is named 'rain'");
  EXPECT_EQ(refused({{"tools", nullptr}, {"tool_choice", "required"}}),
            "tool_choice: demands a call, and there are no tools");
  EXPECT_EQ(refused({{"tool_choice", "yes"}}),
            "tool_choice: is not \"auto\", \"none\", \"required\", or a function");
  EXPECT_EQ(refused({{"tool_choice", "required"}, {"json_schema", {{"type", "object"}}}}),
            "tool_choice: demands a call, and the reply has another form already");
  EXPECT_EQ(refused({{"reasoning_effort", "much"}}).substr(0, 16), "reasoning_effort");
  EXPECT_EQ(refused({{"stream", "yes"}}), "stream: is not true or false");
  const Json call = Json::parse(R"([{"role": "user", "content": "?"}, {"role": "assistant",
    "tool_calls": [{"id": "1", "function": {"name": "now", "arguments": "{broken"}}]}])");
  EXPECT_EQ(refused({{"messages", call}}),
            "messages[1].tool_calls[0].function.arguments: are not JSON");
}

}  // namespace
}  // namespace longhaul::serve
