// The Responses API, without sockets.

#include <gtest/gtest.h>

#include "chat_server.h"

namespace longhaul::serve {
namespace {

using testing_support::Answer;
using testing_support::ChatServer;
using testing_support::MockServer;
using testing_support::nano_tokens;
using testing_support::user_says;

const char* const kResponsesPath = "/v1/responses";

Json body_of(const Json& more = Json::object()) {
  Json body = {{"model", "nano"}, {"input", "Hi"}};
  body.update(more);
  return body;
}

Json weather_functions() {
  return Json::parse(R"([
    {"type": "function", "name": "weather", "description": "Tells the weather.",
     "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo"]}}, "required": ["city"]}},
    {"type": "custom", "name": "apply_patch", "description": "Edits files."},
    {"type": "namespace", "name": "agents", "description": "Other agents.", "tools": [
      {"type": "function", "name": "close", "parameters": {"type": "object"}}]}])");
}

/// Events of a stream, whose order of numbers is checked.
std::vector<Json> events_of(const Answer& answer) {
  std::vector<Json> events;
  for (const std::string& text : answer.events()) {
    Json event = Json::parse(text);
    EXPECT_EQ(event["sequence_number"], static_cast<int64_t>(events.size()));
    EXPECT_NE(answer.body.find("event: " + event["type"].get<std::string>() + "\n"),
              std::string::npos);
    EXPECT_EQ(event["type"] == "response.longhaul.progress", event.contains("processed"));
    events.push_back(std::move(event));
  }
  return events;
}

/// Types of events, where neighbours of the same type count once; without progress.
std::vector<std::string> types_of(const std::vector<Json>& events) {
  std::vector<std::string> types;
  for (const Json& event : events) {
    const std::string type = event["type"];
    if (type == "response.longhaul.progress") continue;
    if (types.empty() || types.back() != type) types.push_back(type);
  }
  return types;
}

std::string joined_texts(const std::vector<Json>& events, const std::string& type) {
  std::string text;
  for (const Json& event : events) {
    if (event["type"] == type) text += event["delta"];
  }
  return text;
}

TEST(Responses, AnswerAsOneObject) {
  MockServer server;
  const Answer answer = server.post(kResponsesPath, body_of({{"metadata", {{"a", "b"}}}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_TRUE(json["id"].get<std::string>().starts_with("resp_"));
  EXPECT_EQ(json["object"], "response");
  EXPECT_EQ(json["status"], "completed");
  EXPECT_EQ(json["model"], "nano");
  EXPECT_TRUE(json["error"].is_null());
  EXPECT_TRUE(json["incomplete_details"].is_null());
  EXPECT_EQ(json["metadata"]["a"], "b");
  EXPECT_EQ(json["tools"], Json::array());
  EXPECT_EQ(json["tool_choice"], "auto");
  ASSERT_EQ(json["output"].size(), 1U);
  const Json& item = json["output"][0];
  EXPECT_EQ(item["type"], "message");
  EXPECT_EQ(item["role"], "assistant");
  EXPECT_EQ(item["status"], "completed");
  EXPECT_EQ(item["content"][0]["type"], "output_text");
  EXPECT_EQ(item["content"][0]["text"], server.reply);
  EXPECT_EQ(item["content"][0]["annotations"], Json::array());
  EXPECT_EQ(json["longhaul"]["attention"], "dense");
  const Json openai = server.post("/v1/chat/completions", {{"messages", user_says("Hi")}}).json();
  EXPECT_EQ(json["usage"]["input_tokens"], openai["usage"]["prompt_tokens"]);
  EXPECT_EQ(json["usage"]["output_tokens"], openai["usage"]["completion_tokens"]);
  EXPECT_EQ(json["usage"]["input_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(json["usage"]["output_tokens_details"]["reasoning_tokens"], 0);
}

TEST(Responses, StreamTypedEventsInOrder) {
  MockServer server;
  const auto events = events_of(server.post(kResponsesPath, body_of({{"stream", true}})));
  const std::vector<std::string> expected = {
      "response.created",           "response.in_progress",
      "response.output_item.added", "response.content_part.added",
      "response.output_text.delta", "response.output_text.done",
      "response.content_part.done", "response.output_item.done",
      "response.completed"};
  EXPECT_EQ(types_of(events), expected);
  EXPECT_EQ(joined_texts(events, "response.output_text.delta"), server.reply);
  const Json& last = events.back()["response"];
  EXPECT_EQ(last["output"][0]["content"][0]["text"], server.reply);
  EXPECT_GT(last["usage"]["output_tokens"], 0);
  EXPECT_EQ(events[0]["response"]["id"], last["id"]);
  EXPECT_EQ(events[0]["response"]["status"], "in_progress");
  for (const Json& event : events) {
    EXPECT_EQ(event.value("item_id", last["output"][0]["id"]), last["output"][0]["id"]);
  }
}

TEST(Responses, TellProgress) {
  MockServer server;
  const auto events = events_of(server.post(kResponsesPath, body_of({{"stream", true}})));
  int progress = 0;
  for (const Json& event : events)
    progress += event["type"] == "response.longhaul.progress" ? 1 : 0;
  EXPECT_GT(progress, 0);
}

TEST(Responses, SeparateReasoning) {
  ChatServer server("qwen3");
  server.reply = "<think>\nHm, well.\n</think>\n\nYes.";
  const Json whole = server.post(kResponsesPath, body_of()).json();
  ASSERT_EQ(whole["output"].size(), 2U) << whole;
  EXPECT_EQ(whole["output"][0]["type"], "reasoning");
  EXPECT_EQ(whole["output"][0]["content"][0]["type"], "reasoning_text");
  EXPECT_EQ(whole["output"][0]["content"][0]["text"], "Hm, well.");
  EXPECT_EQ(whole["output"][0]["summary"], Json::array());
  EXPECT_EQ(whole["output"][1]["content"][0]["text"], "Yes.");
  EXPECT_GT(whole["usage"]["output_tokens_details"]["reasoning_tokens"], 0);
  EXPECT_LT(whole["usage"]["output_tokens_details"]["reasoning_tokens"],
            whole["usage"]["output_tokens"]);

  const auto events = events_of(server.post(kResponsesPath, body_of({{"stream", true}})));
  const auto types = types_of(events);
  const std::vector<std::string> expected = {
      "response.output_item.added",    "response.content_part.added",
      "response.reasoning_text.delta", "response.reasoning_text.done",
      "response.content_part.done",    "response.output_item.done"};
  EXPECT_EQ(std::vector<std::string>(types.begin() + 2, types.begin() + 8), expected);
  EXPECT_EQ(joined_texts(events, "response.reasoning_text.delta"), "Hm, well.");
  EXPECT_EQ(events.back()["response"]["usage"]["output_tokens_details"],
            whole["usage"]["output_tokens_details"]);
}

TEST(Responses, ShowReasoningAsASummaryWhereOneIsRequested) {
  ChatServer server("qwen3");
  server.reply = "<think>\nHm.\n</think>\n\nYes.";
  const Json body =
      body_of({{"reasoning", {{"effort", "high"}, {"summary", "auto"}}}, {"stream", true}});
  const auto events = events_of(server.post(kResponsesPath, body));
  EXPECT_EQ(joined_texts(events, "response.reasoning_summary_text.delta"), "Hm.");
  const auto types = types_of(events);
  const std::vector<std::string> expected = {"response.output_item.added",
                                             "response.reasoning_summary_part.added",
                                             "response.reasoning_summary_text.delta",
                                             "response.reasoning_summary_text.done",
                                             "response.reasoning_summary_part.done",
                                             "response.output_item.done"};
  EXPECT_EQ(std::vector<std::string>(types.begin() + 2, types.begin() + 8), expected);
  const Json& item = events.back()["response"]["output"][0];
  EXPECT_EQ(item["summary"][0]["text"], "Hm.");
  EXPECT_FALSE(item.contains("content"));
  const Json off =
      server.post(kResponsesPath, body_of({{"reasoning", {{"effort", "none"}}}})).json();
  EXPECT_GT(off["usage"]["input_tokens"], events.back()["response"]["usage"]["input_tokens"])
      << "the prompt ends the thought";
}

TEST(Responses, CallTools) {
  ChatServer server("qwen2.5");
  server.reply =
      "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
      "</tool_call>\n<tool_call>\n{\"name\": \"agents.close\", \"arguments\": {}}\n</tool_call>";
  const Json tools = weather_functions();
  const Json whole = server.post(kResponsesPath, body_of({{"tools", tools}})).json();
  ASSERT_EQ(whole["output"].size(), 3U) << whole;
  EXPECT_EQ(whole["tools"], tools) << "as the client sent them";
  const Json& call = whole["output"][1];
  EXPECT_EQ(call["type"], "function_call");
  EXPECT_EQ(call["name"], "weather");
  EXPECT_EQ(Json::parse(call["arguments"].get<std::string>()), Json({{"city", "Oslo"}}));
  EXPECT_TRUE(call["call_id"].get<std::string>().starts_with("call_"));
  EXPECT_FALSE(call.contains("namespace"));
  EXPECT_EQ(whole["output"][2]["name"], "close");
  EXPECT_EQ(whole["output"][2]["namespace"], "agents");

  const auto events =
      events_of(server.post(kResponsesPath, body_of({{"tools", tools}, {"stream", true}})));
  const auto types = types_of(events);
  const std::vector<std::string> expected = {
      "response.output_item.added", "response.function_call_arguments.delta",
      "response.function_call_arguments.done", "response.output_item.done"};
  EXPECT_EQ(std::vector<std::string>(types.begin() + 8, types.begin() + 12), expected);
  for (const Json& event : events) {
    if (event["type"] != "response.function_call_arguments.done") continue;
    EXPECT_TRUE(Json::accept(event["arguments"].get<std::string>()));
    EXPECT_TRUE(event.contains("name"));
  }
}

TEST(Responses, FreeformToolsHaveText) {
  ChatServer server("qwen2.5");
  const std::string patch = "*** Begin Patch\n+\"a\"\n*** End Patch";
  server.reply =
      "<tool_call>\n{\"name\": \"apply_patch\", \"arguments\": " + Json({{"input", patch}}).dump() +
      "}\n</tool_call>";
  const Json body = body_of({{"tools", weather_functions()}, {"stream", true}});
  const auto events = events_of(server.post(kResponsesPath, body));
  EXPECT_EQ(joined_texts(events, "response.custom_tool_call_input.delta"), patch);
  const Json response = events.back()["response"];
  ASSERT_EQ(response["output"].size(), 1U) << response;
  const Json& call = response["output"][0];
  EXPECT_EQ(call["type"], "custom_tool_call");
  EXPECT_EQ(call["input"], patch);
  EXPECT_FALSE(call.contains("arguments"));

  // The call and its result come back, and the next prompt begins with what was read already.
  server.reply = "Done.";
  const Json second = {
      {"input",
       {{{"role", "user"}, {"content", "Hi"}},
        call,
        {{"type", "custom_tool_call_output"}, {"call_id", call["call_id"]}, {"output", "ok"}}}},
      {"tools", weather_functions()}};
  const Json next = server.post(kResponsesPath, second).json();
  EXPECT_EQ(next["output"][0]["content"][0]["text"], "Done.") << next;
  EXPECT_GT(next["usage"]["input_tokens_details"]["cached_tokens"],
            response["usage"]["input_tokens"].get<int64_t>() / 2);
}

TEST(Responses, ACutReplyIsIncomplete) {
  ChatServer server("qwen2.5");
  const Json cut = server.post(kResponsesPath, body_of({{"max_output_tokens", 2}})).json();
  EXPECT_EQ(cut["status"], "incomplete");
  EXPECT_EQ(cut["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(cut["output"][0]["status"], "incomplete");
  server.reply =
      "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
  const int64_t tokens = nano_tokens("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"ci");
  const auto events = events_of(server.post(
      kResponsesPath,
      body_of({{"tools", weather_functions()}, {"max_output_tokens", tokens}, {"stream", true}})));
  EXPECT_EQ(events.back()["type"], "response.incomplete");
  for (const Json& event : events) {
    const std::string type = event["type"];
    EXPECT_FALSE(type == "response.output_item.done" ||
                 type == "response.function_call_arguments.done")
        << "clients would run the call";
  }
  EXPECT_EQ(events.back()["response"]["output"][0]["status"], "incomplete");
}

TEST(Responses, AreHeldToAFormat) {
  MockServer server;
  const auto text = [&](const Json& format) {
    const Answer answer = server.post(kResponsesPath, body_of({{"text", {{"format", format}}}}));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["output"][0]["content"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text({{"type", "json_schema"},
                  {"name", "x"},
                  {"strict", true},
                  {"schema", {{"enum", {"yes"}}}}}),
            "\"yes\"");
  EXPECT_EQ(text({{"type", "text"}}), server.reply);
  server.reply = "{}";
  EXPECT_TRUE(Json::parse(text({{"type", "json_object"}})).is_object());
}

TEST(Responses, AreContinuedByTheirId) {
  MockServer server;
  const Json first =
      server
          .post(kResponsesPath, body_of({{"input", "Tell me about ferries, at length."},
                                         {"instructions", "Be brief."}}))
          .json();
  const Json second = server
                          .post(kResponsesPath, body_of({{"input", "And ships?"},
                                                         {"instructions", "Be brief."},
                                                         {"previous_response_id", first["id"]}}))
                          .json();
  EXPECT_EQ(second["previous_response_id"], first["id"]);
  EXPECT_GT(second["usage"]["input_tokens_details"]["cached_tokens"],
            first["usage"]["input_tokens"].get<int64_t>() / 2);
  // Sent as items, the conversation has an equal prompt.
  const Json items = {{{"role", "user"}, {"content", "Tell me about ferries, at length."}},
                      first["output"][0],
                      {{"role", "user"}, {"content", "And ships?"}}};
  const Json whole =
      server.post(kResponsesPath, body_of({{"input", items}, {"instructions", "Be brief."}}))
          .json();
  EXPECT_EQ(whole["usage"]["input_tokens"], second["usage"]["input_tokens"]);
  // Instructions are not carried over.
  const Json third =
      server
          .post(kResponsesPath,
                body_of({{"input", "And ships?"}, {"previous_response_id", first["id"]}}))
          .json();
  EXPECT_LT(third["usage"]["input_tokens"], second["usage"]["input_tokens"]);
}

TEST(Responses, AreReadAgainAndDeleted) {
  MockServer server;
  const Json made = server.post(kResponsesPath, body_of()).json();
  const std::string path = std::string(kResponsesPath) + "/" + made["id"].get<std::string>();
  EXPECT_EQ(server.get(path).json(), made);
  const Json items = server.get(path + "/input_items").json();
  EXPECT_EQ(items["data"][0]["content"][0]["text"], "Hi");
  const Answer gone = server.ask("DELETE", path, "");
  EXPECT_EQ(gone.json()["deleted"], true);
  EXPECT_EQ(server.get(path).status, 404);
  EXPECT_EQ(server.ask("DELETE", path, "").status, 404);
  const Answer unknown =
      server.post(kResponsesPath, body_of({{"previous_response_id", made["id"]}}));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json()["error"]["param"], "previous_response_id");
  EXPECT_EQ(unknown.json()["error"]["code"], "previous_response_not_found");
  EXPECT_NE(
      unknown.json()["error"]["message"].get<std::string>().find("whole conversation as input"),
      std::string::npos);
  const Json unkept = server.post(kResponsesPath, body_of({{"store", false}})).json();
  EXPECT_EQ(server.get(std::string(kResponsesPath) + "/" + unkept["id"].get<std::string>()).status,
            404);
  const auto events = events_of(server.post(kResponsesPath, body_of({{"stream", true}})));
  EXPECT_EQ(
      server.get(std::string(kResponsesPath) + "/" + events[0]["response"]["id"].get<std::string>())
          .json(),
      events.back()["response"]);
}

TEST(Responses, CountTheTokensOfAnInput) {
  ChatServer server("qwen2.5");
  const Json body = body_of({{"instructions", "Be brief."}, {"tools", weather_functions()}});
  const Json count = server.post("/v1/responses/input_tokens", body).json();
  EXPECT_EQ(count["object"], "response.input_tokens");
  EXPECT_EQ(count["input_tokens"],
            server.post(kResponsesPath, body).json()["usage"]["input_tokens"]);
}

TEST(Responses, WarnOfWhatTheyLeaveOut) {
  MockServer server;
  const Json json =
      server
          .post(kResponsesPath, body_of({{"input",
                                          {{{"role", "user"}, {"content", "Hi"}},
                                           {{"type", "web_search_call"}, {"id", "x"}}}},
                                         {"tools", {{{"type", "web_search"}}}}}))
          .json();
  EXPECT_EQ(json["longhaul"]["warnings"].size(), 2U) << json;
  EXPECT_EQ(json["output"][0]["content"][0]["text"], server.reply);
}

TEST(ResponsesErrors, NameTheField) {
  ChatServer server("qwen2.5");
  const Json tool = {{"type", "function"}, {"name", "f"}};
  const std::pair<Json, const char*> cases[] = {
      {{{"input", nullptr}}, "input"},
      {{{"input", Json::array()}}, "input"},
      {{{"input", 3}}, "input"},
      {{{"stream", "yes"}}, "stream"},
      {{{"store", "yes"}}, "store"},
      {{{"instructions", 3}}, "instructions"},
      {{{"background", true}}, "background"},
      {{{"conversation", "x"}}, "conversation"},
      {{{"prompt", {{"id", "x"}}}}, "prompt"},
      {{{"top_logprobs", 3}}, "top_logprobs"},
      {{{"truncation", "left"}}, "truncation"},
      {{{"include", "x"}}, "include"},
      {{{"metadata", 3}}, "metadata"},
      {{{"client_metadata", 3}}, "client_metadata"},
      {{{"reasoning", 3}}, "reasoning"},
      {{{"reasoning", {{"effort", "huge"}}}}, "reasoning.effort"},
      {{{"reasoning", {{"summary", "long"}}}}, "reasoning.summary"},
      {{{"text", 3}}, "text"},
      {{{"text", {{"format", {{"type", "yaml"}}}}}}, "text.format"},
      {{{"text", {{"format", {{"type", "json_schema"}}}}}}, "text.format.schema"},
      {{{"text",
         {{"format", {{"type", "json_schema"}, {"schema", {{"$ref", "http://x.org/y"}}}}}}}},
       "text.format.schema"},
      {{{"max_output_tokens", 0}}, "max_output_tokens"},
      {{{"temperature", "hot"}}, "temperature"},
      {{{"previous_response_id", 3}}, "previous_response_id"},
      {{{"parallel_tool_calls", 3}}, "parallel_tool_calls"},
      {{{"tools", 3}}, "tools"},
      {{{"tools", {{{"type", "function"}, {"name", "two words"}}}}}, "tools[0].name"},
      {{{"tools", {tool}}, {"tool_choice", {{"type", "function"}, {"name", "g"}}}}, "tool_choice"},
      {{{"tools", {tool}}, {"tool_choice", {{"type", "web_search"}}}}, "tool_choice"},
      {{{"tool_choice", "required"}}, "tool_choice"}};
  for (const auto& [more, param] : cases) {
    const Answer answer = server.post(kResponsesPath, body_of(more));
    EXPECT_EQ(answer.status, 400) << more << answer.body;
    const Json error = answer.json()["error"];
    EXPECT_EQ(error["param"], param) << error;
    EXPECT_EQ(error["type"], "invalid_request_error");
    EXPECT_TRUE(error["message"].get<std::string>().starts_with(param)) << error;
  }
}

TEST(ResponsesErrors, LateOnesAreEvents) {
  MockSettings settings;
  int steps = 0;
  settings.fault = [&](auto) {
    if (++steps > 15) throw std::runtime_error("the disk is full");
  };
  MockServer server(settings);
  const auto events = events_of(server.post(kResponsesPath, body_of({{"stream", true}})));
  ASSERT_GE(events.size(), 4U);
  const Json& failed = events[events.size() - 2];
  EXPECT_EQ(failed["type"], "response.failed");
  EXPECT_EQ(failed["response"]["status"], "failed");
  EXPECT_EQ(failed["response"]["error"]["code"], "engine_failed");
  EXPECT_EQ(events.back()["type"], "error");
  EXPECT_TRUE(events.back()["error"]["message"].is_string());
}

}  // namespace
}  // namespace longhaul::serve
