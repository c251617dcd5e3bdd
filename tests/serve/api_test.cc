// Requests of OpenAI's and llama-server's clients, without sockets.

#include <gtest/gtest.h>

#include "mock_server.h"
#include "serve/api/measured_scores.h"

namespace longhaul::serve {
namespace {

using testing_support::Answer;
using testing_support::MockServer;

Json chat_body(const Json& more = Json::object()) {
  Json body = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
  body.update(more);
  return body;
}

TEST(ChatApi, HoldsTheReplyToAForm) {
  MockServer server;
  const Json schema = {{"enum", {"yes"}}};
  const std::pair<const char*, Json> forms[] = {
      {"response_format", {{"type", "json_schema"}, {"json_schema", {{"schema", schema}}}}},
      {"json_schema", schema},
      {"grammar", "root ::= \"\\\"yes\\\"\""},
      {"structured_outputs", {{"choice", {"\"yes\""}}}}};
  for (const auto& [name, form] : forms) {
    const Answer answer = server.post("/v1/chat/completions", chat_body({{name, form}}));
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json()["choices"][0]["message"]["content"], "\"yes\"") << name;
    EXPECT_EQ(answer.json()["choices"][0]["finish_reason"], "stop") << name;
  }
}

TEST(ChatApi, AnswersAsOneObject) {
  MockServer server;
  const Answer answer = server.post("/v1/chat/completions", chat_body());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_EQ(json["model"], "nano");
  EXPECT_EQ(json["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(json["choices"][0]["message"]["content"], server.reply);
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
  EXPECT_GT(json["usage"]["prompt_tokens"], 0);
  EXPECT_GT(json["usage"]["completion_tokens"], 1);
  EXPECT_EQ(json["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(json["longhaul"]["attention"], "dense");
  EXPECT_TRUE(json["longhaul"]["seed"].is_null());
  EXPECT_TRUE(json["timings"].contains("predicted_n"));
}

TEST(ChatApi, StreamsItsReply) {
  MockServer server;
  const Answer answer =
      server.post("/v1/chat/completions", chat_body({{"stream", true},
                                                     {"stream_options", {{"include_usage", true}}},
                                                     {"return_progress", true}}));
  ASSERT_EQ(answer.status, 200);
  const auto events = answer.events();
  ASSERT_GE(events.size(), 5U) << answer.body;
  EXPECT_EQ(events.back(), "[DONE]");
  std::string text, reason;
  Json last;
  for (const std::string& event : events) {
    if (event == "[DONE]") break;
    last = Json::parse(event);
    EXPECT_EQ(last["object"], "chat.completion.chunk");
    if (last["choices"].empty()) continue;
    const Json& choice = last["choices"][0];
    if (choice["delta"].contains("content")) text += choice["delta"]["content"];
    if (choice["finish_reason"].is_string()) reason = choice["finish_reason"];
  }
  EXPECT_EQ(Json::parse(events.front())["prompt_progress"]["processed"], 0);
  EXPECT_EQ(text, server.reply);
  EXPECT_EQ(reason, "stop");
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_GT(last["usage"]["completion_tokens"], 0);
}

TEST(ChatApi, TheLastChunkHasTheReportWhereNoChunkForItIsAskedFor) {
  MockServer server;
  const Answer answer = server.post("/v1/chat/completions", chat_body({{"stream", true}}));
  const auto events = answer.events();
  const Json last = Json::parse(events[events.size() - 2]);
  EXPECT_EQ(last["choices"].size(), 1U) << "clients that did not ask read choices[0]";
  EXPECT_TRUE(last.contains("usage"));
  EXPECT_TRUE(last.contains("longhaul"));
}

TEST(ChatApi, GivesSeveralChoicesAndLogprobs) {
  MockServer server;
  const Answer answer = server.post(
      "/v1/chat/completions",
      chat_body({{"n", 2}, {"logprobs", true}, {"top_logprobs", 3}, {"max_tokens", 3}}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  ASSERT_EQ(json["choices"].size(), 2U);
  EXPECT_EQ(json["choices"][1]["index"], 1);
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
  const Json& tokens = json["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens[0]["top_logprobs"].size(), 3U);
  EXPECT_EQ(tokens[0]["top_logprobs"][0]["token"], tokens[0]["token"]);
  EXPECT_EQ(json["usage"]["completion_tokens"], 6);
}

TEST(ChatApi, StopsBeforeAStopString) {
  MockServer server;
  const Json json = server.post("/v1/chat/completions", chat_body({{"stop", {"there"}}})).json();
  EXPECT_EQ(json["choices"][0]["message"]["content"], "Hello ");
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
}

TEST(ChatApi, ReadsTheSecondTurnFromTheFirst) {
  MockServer server;
  Json messages = {{{"role", "user"}, {"content", "Tell me about ferries, please, at length."}}};
  server.post("/v1/chat/completions", {{"messages", messages}});
  messages.push_back({{"role", "assistant"}, {"content", server.reply}});
  messages.push_back({{"role", "user"}, {"content", "And ships?"}});
  const Json json = server.post("/v1/chat/completions", {{"messages", messages}}).json();
  EXPECT_GT(json["usage"]["prompt_tokens_details"]["cached_tokens"], 16);
}

TEST(CompletionsApi, EchoesAPromptWithItsLogprobs) {
  MockServer server;
  const Answer answer = server.post(
      "/v1/completions",
      {{"prompt", {"One two three", "Four"}}, {"echo", true}, {"max_tokens", 0}, {"logprobs", 1}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  ASSERT_EQ(json["choices"].size(), 2U);
  EXPECT_EQ(json["choices"][0]["text"], "One two three");
  EXPECT_EQ(json["choices"][1]["text"], "Four");
  const Json& logprobs = json["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"].size(), logprobs["token_logprobs"].size());
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_LT(logprobs["token_logprobs"][1].get<double>(), 0);
  EXPECT_EQ(logprobs["tokens"].size(), logprobs["text_offset"].size());
}

TEST(CompletionsApi, TakesTokenIds) {
  MockServer server;
  const Json json =
      server.post("/v1/completions", {{"prompt", {300, 301, 302}}, {"max_tokens", 2}}).json();
  EXPECT_EQ(json["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(json["usage"]["completion_tokens"], 2);
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
}

TEST(LlamaApi, Completes) {
  MockServer server;
  const Json json = server.post("/completion", {{"prompt", "Hi"}, {"n_predict", 64}}).json();
  EXPECT_EQ(json["content"], server.reply);
  EXPECT_EQ(json["stop"], true);
  EXPECT_EQ(json["stop_type"], "eos");
  EXPECT_EQ(json["truncated"], false);
  const Answer stream =
      server.post("/completion", {{"prompt", "Hi"}, {"n_predict", 2}, {"stream", true}});
  const auto events = stream.events();
  EXPECT_EQ(Json::parse(events.back())["stop_type"], "limit");
  EXPECT_EQ(Json::parse(events.back())["tokens_predicted"], 2);
}

TEST(TokenPages, CutAndJoin) {
  MockServer server;
  const Json tokens = server.post("/tokenize", {{"content", "Hello there"}}).json()["tokens"];
  EXPECT_EQ(server.post("/detokenize", {{"tokens", tokens}}).json()["content"], "Hello there");
  const Json pieces =
      server.post("/tokenize", {{"content", "Hello"}, {"with_pieces", true}}).json()["tokens"];
  EXPECT_TRUE(pieces[0].contains("piece"));
  const Json vllm = server.post("/tokenize", {{"prompt", "Hello there"}}).json();
  EXPECT_EQ(vllm["count"], vllm["tokens"].size());
  const Json rendered = server.post("/apply-template", chat_body()).json();
  EXPECT_NE(rendered["prompt"].get<std::string>().find("Hi"), std::string::npos);
}

TEST(InfoPages, TellOfModelAndMethods) {
  ServiceOptions options;
  MockServer server({}, std::move(options));
  server.model().offers = {MethodSpec::parse("streamingllm")};
  const Json models = server.get("/v1/models").json();
  EXPECT_EQ(models["data"][0]["id"], "nano");
  EXPECT_EQ(models["data"][1]["id"], "nano@streamingllm");
  EXPECT_EQ(server.get("/v1/models/nano").status, 200);
  EXPECT_EQ(server.get("/v1/models/other").status, 404);
  EXPECT_GT(server.get("/v1/methods").json()["data"].size(), 10U);
  EXPECT_EQ(server.get("/health").json()["status"], "ok");
  EXPECT_EQ(server.get("/props").json()["total_slots"], 8);
  EXPECT_TRUE(server.get("/slots").json().is_array());
  const Json forecast = server.post("/v1/forecast", {{"tokens", 1000}}).json();
  EXPECT_EQ(forecast["data"].size(), 2U);
  EXPECT_TRUE(forecast["data"][0]["fits"]);
  EXPECT_EQ(server.post("/v1/advise", {{"tokens", 1000}}).json()["attention"], "dense");
}

/// The scores of docs/results/README.md, which `make_results_page.py --check` compares.
TEST(InfoPages, AdviceHasTheMeasuredScores) {
  MockServer server;
  std::map<std::string, Json> rows;
  const Json advice = server.post("/v1/advise", {{"tokens", 20'000}}).json();
  for (const Json& row : advice["data"]) {
    rows[row["name"].get<std::string>()] = row["measured"];
  }
  EXPECT_EQ(rows["dense"]["model"], "nano");
  EXPECT_EQ(rows["dense"]["tokens"], 16'384);
  EXPECT_NEAR(rows["dense"]["score"].get<double>(), 0.675, 0.001);
  EXPECT_EQ(rows["dense"]["score"], rows["dense"]["dense"]);
  EXPECT_NEAR(rows["streamingllm"]["score"].get<double>(), 0.09, 0.005);
  EXPECT_EQ(rows["streamingllm"]["attention"], "streamingllm:recent=1020");
}

TEST(InfoPages, TokenizeChecksItsSettingsWithoutAText) {
  MockServer server;
  EXPECT_EQ(server.post("/tokenize", {{"with_pieces", "yes"}}).status, 400);
  EXPECT_EQ(server.post("/tokenize", Json::object()).json()["tokens"].size(), 0U);
}

TEST(MeasuredScores, AreThoseOfTheNearestShorterTexts) {
  EXPECT_EQ(measured_score("nano", "dense", 9000)->row.tokens, 8192);
  EXPECT_EQ(measured_score("nano", "dense", 100)->row.tokens, 2048);
  EXPECT_EQ(measured_score("another model", "dense", 1 << 20)->row.tokens, 32'768);
  EXPECT_STREQ(measured_score("another model", "dense", 5000)->row.model, "smollm2-32k");
  EXPECT_FALSE(measured_score("nano", "no such method", 5000));
  // This setting of the method was measured at other lengths only.
  const auto flex = measured_score("nano", "flexprefill:dense_below=0", 4096);
  ASSERT_TRUE(flex);
  EXPECT_STREQ(flex->row.attention, "flexprefill:dense_below=0");
}

TEST(InfoPages, TheDescriptionHasEveryPath) {
  MockServer server;
  const Json paths = server.get("/openapi.json").json()["paths"];
  for (const http::Route& route : server.service().router().routes()) {
    ASSERT_TRUE(paths.contains(route.path)) << route.path;
    const char* method = route.method == "GET" ? "get" : route.method == "POST" ? "post" : "delete";
    EXPECT_TRUE(paths[route.path].contains(method)) << route.method << " " << route.path;
  }
}

TEST(Refusals, HaveTheFormOfTheirApi) {
  MockServer server;
  const Answer ollama = server.get("/api/nothing");
  EXPECT_EQ(ollama.status, 404);
  EXPECT_EQ(ollama.json(), Json({{"error", "this path is not served"}}));
  EXPECT_EQ(server.get("/v1/nothing").json()["error"]["code"], "not_found");
}

TEST(InfoPages, CountRequests) {
  MockServer server;
  server.post("/v1/chat/completions", chat_body());
  const std::string text = server.get("/metrics").body;
  EXPECT_NE(text.find("longhaul_reply_tokens_total"), std::string::npos);
  EXPECT_NE(text.find("longhaul_first_token_seconds_count 1"), std::string::npos);
  EXPECT_EQ(text.find("Hello"), std::string::npos);
}

TEST(Methods, AreChosenByRequestOrName) {
  MockServer server;
  const auto attention = [&](const Json& more) {
    const Answer answer = server.post("/v1/chat/completions", chat_body(more));
    return answer.status == 200 ? answer.json()["longhaul"]["attention"].get<std::string>()
                                : answer.json()["error"]["code"].get<std::string>();
  };
  EXPECT_EQ(attention({{"attention", "streamingllm"}}).substr(0, 12), "streamingllm");
  EXPECT_EQ(attention({{"model", "nano@streamingllm"}}).substr(0, 12), "streamingllm");
  EXPECT_EQ(attention({{"attention", "nothing"}}), "unknown_attention");
  EXPECT_EQ(attention({{"attention", "duo:gates=/etc/passwd"}}), "unknown_attention");
  EXPECT_EQ(attention({{"model", "gpt-5"}}), "model_not_found");
  server.model().offers = {MethodSpec::parse("streamingllm")};
  EXPECT_EQ(attention({{"attention", "snapkv"}}), "unknown_attention");
}

struct Wrong {
  const char* path;
  Json body;
  const char* param;
};

TEST(WrongRequests, AreRefusedByName) {
  MockServer server;
  const char* chat = "/v1/chat/completions";
  Json many_stops = Json::array();
  for (int i = 0; i < 1000; ++i) many_stops.push_back("x");
  const Wrong all[] = {
      {chat, Json::object(), "messages"},
      {chat, {{"messages", Json::array()}}, "messages"},
      {chat, {{"messages", {{{"role", 1}, {"content", "x"}}}}}, "messages[0].role"},
      {chat, {{"messages", {{{"role", "user"}}}}}, "messages[0].content"},
      {chat,
       {{"messages", {{{"role", "user"}, {"content", {{{"type", "image_url"}}}}}}}},
       "messages[0].content[0].type"},
      {chat, chat_body({{"n", 1'000'000'000}}), "n"},
      {chat, chat_body({{"max_tokens", -5}}), "max_tokens"},
      {chat, chat_body({{"temperature", "hot"}}), "temperature"},
      {chat, chat_body({{"stop", many_stops}}), "stop"},
      {chat, chat_body({{"stream", "yes"}}), "stream"},
      {chat, chat_body({{"modalities", {"audio"}}}), "modalities"},
      {chat, chat_body({{"audio", {{"voice", "x"}}}}), "audio"},
      {chat, chat_body({{"kv_type", "q4_0"}}), "kv_type"},
      {chat, chat_body({{"response_format", {{"type", "xml"}}}}), "response_format"},
      {chat, chat_body({{"json_schema", {{"not", Json::object()}}}}), "json_schema"},
      {chat, chat_body({{"grammar", "root ::= root \"x\" | \"y\""}}), "grammar"},
      {chat, chat_body({{"grammar", "root ::= \"y\""}, {"json_schema", Json::object()}}),
       "grammar"},
      {chat, chat_body({{"structured_outputs", {{"regex", "("}}}}), "structured_outputs.regex"},
      {chat, chat_body({{"logit_bias", {{"99999999", 1}}}}), "logit_bias"},
      {chat, chat_body({{"logit_bias", {{"x", "y"}}}}), "logit_bias"},
      {chat, chat_body({{"top_logprobs", 5}}), "top_logprobs"},
      {"/v1/completions", Json::object(), "prompt"},
      {"/v1/completions", {{"prompt", {1, 2, 99'999'999}}}, "prompt[2]"},
      {"/v1/completions", {{"prompt", ""}, {"max_tokens", 1}}, "prompt"},
      {"/completion", {{"prompt", {1, -2}}}, "prompt[1]"},
      {"/detokenize", {{"tokens", {1, "x"}}}, "tokens[1]"},
      {"/v1/forecast", Json::object(), "tokens"},
  };
  for (const Wrong& wrong : all) {
    const Answer answer = server.post(wrong.path, wrong.body);
    EXPECT_EQ(answer.status, 400) << wrong.path << " " << wrong.body.dump().substr(0, 200);
    EXPECT_EQ(answer.json()["error"]["param"], wrong.param) << answer.body;
  }
}

TEST(WrongRequests, BrokenJsonIsRefused) {
  MockServer server;
  const std::string deep(100'000, '[');
  const std::string zeros(9'000'001, '0');
  std::string numbers = "{\"prompt\":[0";
  for (int i = 0; i < 4'100'000; ++i) numbers += ",0";
  for (const std::string& body :
       {std::string("{"), std::string("[]"), std::string("1"), std::string(""), deep,
        std::string("{\"prompt\":") + deep, std::string("{\"temperature\":1e999}"),
        std::string("{\"prompt\":\"\\ud800\"}"), std::string("{\"prompt\":\"a\\u0000b\"}"),
        std::string("{\"prompt\":\"\xff\"}"), numbers + "]}"}) {
    const Answer answer = server.ask("POST", "/v1/completions", body);
    EXPECT_EQ(answer.status, 400) << body.substr(0, 40);
    EXPECT_TRUE(answer.json().contains("error")) << answer.body.substr(0, 100);
  }
  const Answer unknown =
      server.ask("POST", "/v1/completions", "{\"prompt\":\"x\",\"other\":[[{\"a\":1e999}]]}");
  EXPECT_EQ(unknown.status, 400) << "a number beyond f64 is no JSON anywhere";
  EXPECT_EQ(server.post("/v1/completions", {{"prompt", "x"}, {"other", {1, {2, 3}}}}).status, 200);
}

TEST(WrongRequests, OtherKindsOfContentAreRefused) {
  MockServer server;
  http::HttpRequest request;
  request.method = "POST";
  request.path = "/v1/chat/completions";
  request.fields = {{"Host", "localhost"}, {"Content-Type", "text/plain"}};
  http::Fields fields;
  EXPECT_EQ(server.service().check(request, fields)->status, 415);
  request.fields[1].second = "application/json; charset=utf-8";
  EXPECT_FALSE(server.service().check(request, fields));
  request.fields[0].second = "evil.example";
  EXPECT_EQ(server.service().check(request, fields)->status, 403);
  EXPECT_EQ(server.get("/nothing").status, 404);
  EXPECT_EQ(server.get("/v1/chat/completions").status, 405);
  EXPECT_EQ(server.post("/v1/embeddings", Json::object()).status, 501);
}

TEST(Keys, AreAskedFor) {
  // printf secret | sha256sum
  ServiceOptions options;
  options.keys = ApiKeys::parse(
      "alice 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b running=2\n", "keys");
  MockServer server({}, std::move(options));
  EXPECT_EQ(server.get("/v1/models").status, 401);
  EXPECT_EQ(server.get("/health").status, 200);
  const auto with = [&](const std::string& name, const std::string& value) {
    return server.ask("GET", "/v1/models", "", {{name, value}}).status;
  };
  EXPECT_EQ(with("Authorization", "Bearer wrong"), 401);
  EXPECT_EQ(with("Authorization", "Bearer secret"), 200);
  EXPECT_EQ(with("X-Api-Key", "secret"), 200);
  EXPECT_EQ(with("X-Api-Key", ""), 401);
}

TEST(Loading, IsToldUntilTheModelIsThere) {
  Service service({});
  http::HttpResponse given;
  std::atomic<bool> done = false;
  http::Exchange::Way way;
  way.reply = [&](http::HttpResponse response) {
    given = std::move(response);
    done = true;
  };
  http::HttpRequest request;
  request.method = "GET";
  request.path = "/v1/models";
  service.handle(std::make_shared<http::Exchange>(request, way));
  for (int i = 0; i < 1000 && !done; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(given.status, 503);
  EXPECT_NE(given.body.find("Loading model"), std::string::npos);
}

TEST(Api, TooLongPromptsNameTheMemberOfTheApi) {
  SchedulerOptions scheduling;
  scheduling.context = 200;
  MockServer server({}, {}, scheduling);
  std::string words;
  for (int i = 0; i < 300; ++i) words += "word ";
  const Json messages = {{{"role", "user"}, {"content", words}}};
  const struct {
    const char *path, *prompt;
    Json value;
  } cases[] = {{"/v1/chat/completions", "messages", messages},
               {"/v1/completions", "prompt", words},
               {"/completions", "prompt", words},
               {"/completion", "prompt", words},
               {"/v1/responses", "input", words}};
  for (const auto& each : cases) {
    const Answer answer = server.post(each.path, {{each.prompt, each.value}});
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_EQ(answer.json()["error"]["param"], each.prompt) << each.path;
  }
  const Answer anthropic = server.post("/v1/messages", {{"messages", messages}, {"max_tokens", 1}});
  EXPECT_EQ(anthropic.json()["error"]["type"], "invalid_request_error") << anthropic.body;
  EXPECT_TRUE(server.post("/api/generate", {{"model", "nano"}, {"prompt", words}})
                  .json()["error"]
                  .is_string());
}

}  // namespace
}  // namespace longhaul::serve
