// Requests of Ollama's programs, without sockets.

#include <gtest/gtest.h>

#include <sstream>

#include "chat_server.h"

namespace longhaul::serve {
namespace {

using testing_support::Answer;
using testing_support::ChatServer;
using testing_support::MockServer;
using testing_support::nano;
using testing_support::nano_tokens;
using testing_support::user_says;
using testing_support::weather_tools;

Json chat_of(const Json& more = Json::object()) {
  Json body = {{"model", "nano"}, {"messages", user_says("Hi")}, {"stream", false}};
  body.update(more);
  return body;
}

Json generate_of(const Json& more = Json::object()) {
  Json body = {{"model", "nano"}, {"prompt", "Hi"}, {"stream", false}};
  body.update(more);
  return body;
}

std::vector<Json> lines_of(const Answer& answer) {
  std::vector<Json> lines;
  std::istringstream in(answer.body);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(OllamaChat, AnswersAsOneObject) {
  MockServer server;
  const Answer answer = server.post("/api/chat", chat_of());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_EQ(json["model"], "nano");
  EXPECT_EQ(json["message"], Json({{"role", "assistant"}, {"content", server.reply}}));
  EXPECT_EQ(json["done"], true);
  EXPECT_EQ(json["done_reason"], "stop");
  for (const char* name : {"total_duration", "load_duration", "prompt_eval_count",
                           "prompt_eval_duration", "eval_count", "eval_duration"}) {
    EXPECT_TRUE(json[name].is_number_integer()) << name;
  }
  EXPECT_GT(json["total_duration"], 0);
  EXPECT_GE(json["total_duration"], json["eval_duration"]);
  EXPECT_EQ(json["created_at"].get<std::string>().back(), 'Z');
}

TEST(OllamaChat, HasTheUsageOfTheOtherApis) {
  MockServer server;
  const Json ollama = server.post("/api/chat", chat_of()).json();
  const Json openai = server.post("/v1/chat/completions", {{"messages", user_says("Hi")}}).json();
  EXPECT_EQ(ollama["message"]["content"], openai["choices"][0]["message"]["content"]);
  EXPECT_EQ(ollama["prompt_eval_count"], openai["usage"]["prompt_tokens"]);
  EXPECT_EQ(ollama["eval_count"], openai["usage"]["completion_tokens"]);
}

TEST(OllamaChat, StreamsLinesUnlessToldOtherwise) {
  MockServer server;
  Json body = chat_of();
  body.erase("stream");
  const Answer answer = server.post("/api/chat", body);
  const std::vector<Json> lines = lines_of(answer);
  ASSERT_GE(lines.size(), 3U) << answer.body;
  std::string text;
  for (const Json& line : lines) {
    EXPECT_EQ(line["model"], "nano");
    EXPECT_EQ(line["message"]["role"], "assistant");
    text += line["message"]["content"];
    EXPECT_EQ(line["done"], &line == &lines.back());
  }
  EXPECT_EQ(text, server.reply);
  EXPECT_EQ(lines.front()["message"]["content"], "") << "progress is an empty piece";
  EXPECT_TRUE(lines.front()["longhaul"].contains("prompt_progress"));
  EXPECT_EQ(lines.back()["done_reason"], "stop");
  EXPECT_EQ(lines.back()["eval_count"], nano_tokens(server.reply) + 1);
}

TEST(OllamaChat, ReadsItsOptions) {
  MockServer server;
  const auto reply = [&](const Json& options) {
    return server.post("/api/chat", chat_of({{"options", options}})).json();
  };
  EXPECT_EQ(reply({{"stop", {"there"}}})["message"]["content"], "Hello ");
  const Json cut = reply({{"num_predict", 2}});
  EXPECT_EQ(cut["done_reason"], "length");
  EXPECT_EQ(cut["eval_count"], 2);
  EXPECT_EQ(reply({{"num_predict", -1}})["done_reason"], "stop");
  EXPECT_EQ(reply({{"num_predict", -2}})["done_reason"], "stop");
  const Json drawn = reply({{"temperature", 0.5},
                            {"seed", 7},
                            {"top_k", 40},
                            {"top_p", 0.9},
                            {"min_p", 0.1},
                            {"repeat_penalty", 1.1},
                            {"repeat_last_n", -1},
                            {"presence_penalty", 0.1},
                            {"frequency_penalty", 0.1}});
  EXPECT_EQ(drawn["longhaul"]["seed"], 7);
  const Json without = reply({{"num_ctx", 128}, {"num_gpu", 99}, {"mirostat", 0}, {"tfs_z", 1.0}});
  EXPECT_EQ(without["message"]["content"], server.reply);
  EXPECT_TRUE(without["longhaul"]["warnings"].empty());
  EXPECT_EQ(reply({{"speed", 3}})["longhaul"]["warnings"][0], "options.speed: is unknown");
}

TEST(OllamaChat, HoldsTheReplyToAFormat) {
  MockServer server;
  const auto content = [&](const Json& format) {
    return server.post("/api/chat", chat_of({{"format", format}}))
        .json()["message"]["content"]
        .get<std::string>();
  };
  EXPECT_EQ(content({{"enum", {"yes"}}}), "\"yes\"");
  EXPECT_EQ(content(""), server.reply);
  server.reply = "{}";
  EXPECT_TRUE(Json::parse(content("json")).is_object());
}

TEST(OllamaChat, SeparatesThinking) {
  ChatServer server("qwen3");
  server.reply = "<think>\nHm.\n</think>\n\nYes.";
  const Json whole = server.post("/api/chat", chat_of({{"think", true}})).json();
  EXPECT_EQ(whole["message"]["thinking"], "Hm.") << whole;
  EXPECT_EQ(whole["message"]["content"], "Yes.");
  std::string thought, text;
  for (const Json& line : lines_of(server.post("/api/chat", chat_of({{"stream", true}})))) {
    thought += line["message"].value("thinking", "");
    text += line["message"]["content"];
  }
  EXPECT_EQ(thought, "Hm.");
  EXPECT_EQ(text, "Yes.");
  const Json off = server.post("/api/chat", chat_of({{"think", false}})).json();
  EXPECT_GT(off["prompt_eval_count"], whole["prompt_eval_count"]) << "the prompt ends the thought";
  for (const char* level : {"low", "medium", "high"}) {
    EXPECT_EQ(server.post("/api/chat", chat_of({{"think", level}})).status, 200);
  }
}

TEST(OllamaChat, CallsTools) {
  ChatServer server("qwen2.5");
  server.reply =
      "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
      "</tool_call>";
  const Json body = chat_of({{"tools", weather_tools()}});
  const Json message = server.post("/api/chat", body).json()["message"];
  EXPECT_EQ(message["content"], "I look.");
  ASSERT_EQ(message["tool_calls"].size(), 1U) << message;
  const Json& function = message["tool_calls"][0]["function"];
  EXPECT_EQ(function["name"], "weather");
  EXPECT_EQ(function["arguments"], Json({{"city", "Oslo"}})) << "an object, not a text";
  Json streamed = body;
  streamed["stream"] = true;
  int calls = 0;
  for (const Json& line : lines_of(server.post("/api/chat", streamed))) {
    if (!line["message"].contains("tool_calls")) continue;
    ++calls;
    EXPECT_EQ(line["message"]["tool_calls"][0]["function"]["arguments"], Json({{"city", "Oslo"}}));
  }
  EXPECT_EQ(calls, 1);
  // The result goes back by the function's name.
  server.reply = "Rain.";
  Json second = body;
  second["messages"].push_back(message);
  second["messages"].push_back({{"role", "tool"}, {"tool_name", "weather"}, {"content", "rain"}});
  EXPECT_EQ(server.post("/api/chat", second).json()["message"]["content"], "Rain.");
  second["messages"].push_back({{"role", "tool"}, {"tool_name", "weather"}, {"content", "rain"}});
  EXPECT_EQ(server.post("/api/chat", second).json()["error"],
            "messages[3]: is the result of no call before it");
}

TEST(OllamaChat, ACutCallIsNoCall) {
  ChatServer server("qwen2.5");
  server.reply =
      "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
  const int64_t tokens = nano_tokens("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"ci");
  for (const bool stream : {false, true}) {
    const auto lines =
        lines_of(server.post("/api/chat", chat_of({{"tools", weather_tools()},
                                                   {"stream", stream},
                                                   {"options", {{"num_predict", tokens}}}})));
    for (const Json& line : lines) EXPECT_FALSE(line["message"].contains("tool_calls"));
    EXPECT_EQ(lines.back()["done_reason"], "length");
  }
}

TEST(OllamaChat, TellsLogprobs) {
  MockServer server;
  const Json json =
      server.post("/api/chat", chat_of({{"logprobs", true}, {"top_logprobs", 2}})).json();
  ASSERT_EQ(static_cast<int64_t>(json["logprobs"].size()), json["eval_count"]) << json;
  EXPECT_EQ(json["logprobs"][0]["top_logprobs"].size(), 2U);
  size_t streamed = 0;
  const Answer answer = server.post("/api/chat", chat_of({{"logprobs", true}, {"stream", true}}));
  for (const Json& line : lines_of(answer)) {
    streamed += line.value("logprobs", Json::array()).size();
  }
  EXPECT_EQ(streamed, json["logprobs"].size());
}

TEST(OllamaGenerate, AnswersAndStreams) {
  MockServer server;
  const Json json = server.post("/api/generate", generate_of({{"system", "Be kind."}})).json();
  EXPECT_EQ(json["response"], server.reply);
  EXPECT_EQ(json["done_reason"], "stop");
  EXPECT_FALSE(json.contains("message"));
  std::string text;
  Json body = generate_of();
  body.erase("stream");
  for (const Json& line : lines_of(server.post("/api/generate", body))) text += line["response"];
  EXPECT_EQ(text, server.reply);
}

TEST(OllamaGenerate, ARawPromptHasNoTemplate) {
  MockServer server;
  server.reply = "<think>raw</think>";
  const Json json = server.post("/api/generate", generate_of({{"raw", true}})).json();
  EXPECT_EQ(json["response"], server.reply) << "nothing is taken out of the reply";
  EXPECT_EQ(json["prompt_eval_count"],
            server.post("/v1/completions", {{"prompt", "Hi"}}).json()["usage"]["prompt_tokens"]);
}

TEST(OllamaGenerate, IgnoresAContextWithAWarning) {
  MockServer server;
  const Json json = server.post("/api/generate", generate_of({{"context", {1, 2, 3}}})).json();
  EXPECT_TRUE(
      json["longhaul"]["warnings"][0].get<std::string>().starts_with("context: was ignored"));
}

TEST(OllamaGenerate, AnEmptyPromptLoadsTheModel) {
  MockServer server;
  const Json json = server.post("/api/generate", {{"model", "nano"}}).json();
  EXPECT_EQ(json["done"], true);
  EXPECT_EQ(json["done_reason"], "load");
  EXPECT_EQ(json["response"], "");
  const Json chat =
      server.post("/api/chat", {{"model", "nano"}, {"messages", Json::array()}, {"keep_alive", 0}})
          .json();
  EXPECT_EQ(chat["done_reason"], "unload");
  EXPECT_EQ(chat["message"]["content"], "");
}

TEST(OllamaPages, TellOfTheModel) {
  MockServer server;
  server.model().offers = {MethodSpec::parse("streamingllm")};
  const Json tags = server.get("/api/tags").json();
  ASSERT_EQ(tags["models"].size(), 2U);
  const Json& entry = tags["models"][0];
  EXPECT_EQ(entry["name"], "nano:latest");
  EXPECT_EQ(entry["model"], "nano:latest");
  EXPECT_EQ(tags["models"][1]["name"], "nano@streamingllm:latest");
  EXPECT_EQ(entry["size"], nano()->weight_bytes());
  EXPECT_EQ(entry["digest"].get<std::string>().size(), 64U);
  EXPECT_EQ(entry["details"]["family"], nano()->model().config.architecture);
  EXPECT_EQ(entry["details"]["quantization_level"], "BF16");
  EXPECT_TRUE(entry["details"]["parameter_size"].get<std::string>().ends_with("M"));
  const Json running = server.get("/api/ps").json()["models"][0];
  EXPECT_EQ(running["name"], "nano:latest");
  EXPECT_EQ(running["size_vram"], 0);
  EXPECT_GT(running["context_length"], 0);
  EXPECT_TRUE(running.contains("expires_at"));
  EXPECT_TRUE(server.get("/api/version").json()["version"].is_string());
}

TEST(OllamaPages, SayThatTheyRunWhereNoWebPageDoes) {
  ServiceOptions options;
  options.web = false;
  MockServer server({}, std::move(options));
  EXPECT_EQ(server.get("/").body, "Ollama is running");
  EXPECT_EQ(server.ask("HEAD", "/", "").status, 200);
  MockServer with_page;
  EXPECT_NE(with_page.get("/").body, "Ollama is running");
  EXPECT_EQ(with_page.get("/").status, 200);
}

TEST(OllamaPages, ShowTheModel) {
  ChatServer server("qwen3");
  const Json shown = server.post("/api/show", {{"model", "nano:latest"}}).json();
  const std::string family = shown["details"]["family"];
  EXPECT_EQ(shown["model_info"]["general.architecture"], family);
  EXPECT_GT(shown["model_info"]["general.parameter_count"], 1000);
  EXPECT_EQ(shown["model_info"][family + ".context_length"], nano()->model().shape.trained_context);
  EXPECT_EQ(shown["capabilities"], Json({"completion", "tools", "thinking"}));
  ChatServer plain("qwen2.5");
  EXPECT_EQ(plain.post("/api/show", {{"name", "nano"}}).json()["capabilities"],
            Json({"completion", "tools"}));
  EXPECT_EQ(server.post("/api/show", {{"model", "other"}}).status, 404);
}

TEST(OllamaPages, LatestMeansTheModel) {
  MockServer server;
  EXPECT_EQ(server.post("/api/chat", chat_of({{"model", "nano:latest"}})).status, 200);
  const Json method =
      server.post("/api/chat", chat_of({{"model", "nano@streamingllm:latest"}})).json();
  EXPECT_TRUE(method["longhaul"]["attention"].get<std::string>().starts_with("streamingllm"));
  EXPECT_EQ(server.post("/api/chat", chat_of({{"model", "nano:7b"}})).status, 404);
}

TEST(OllamaPages, RefuseWhatChangesModels) {
  MockServer server;
  const std::pair<const char*, const char*> paths[] = {
      {"POST", "/api/pull"},    {"POST", "/api/push"},  {"POST", "/api/create"},
      {"POST", "/api/copy"},    {"POST", "/api/embed"}, {"POST", "/api/embeddings"},
      {"DELETE", "/api/delete"}};
  for (const auto& [method, path] : paths) {
    const Answer answer = server.ask(method, path, R"({"model": "nano"})");
    EXPECT_EQ(answer.status, 501) << path;
    const std::string text = answer.json()["error"];
    EXPECT_EQ(std::count(text.begin(), text.end(), '.'), 0) << text;
  }
}

TEST(OllamaErrors, NameTheField) {
  ChatServer server("qwen2.5");
  const auto refusal = [&](const char* path, const Json& body) {
    const Answer answer = server.post(path, body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_EQ(answer.json().size(), 1U) << "only {\"error\": ...}";
    const std::string text = answer.json().value("error", "");
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text;
  };
  const Json call = {{"role", "assistant"},
                     {"content", ""},
                     {"tool_calls", {{{"function", {{"name", "f"}, {"arguments", "{"}}}}}}};
  Json many = Json::array();
  for (int i = 0; i < 10000; ++i) {
    many.push_back({{"type", "function"}, {"function", {{"name", "f" + std::to_string(i)}}}});
  }
  const auto one_message = [](const Json& message) {
    return Json{{"messages", Json::array({message})}};
  };
  const std::pair<Json, const char*> cases[] = {
      {{{"model", nullptr}}, "model: is missing"},
      {{{"stream", "yes"}}, "stream: "},
      {{{"messages", "Hi"}}, "messages: "},
      {one_message(3), "messages[0]: "},
      {one_message({{"role", "wizard"}}), "messages[0].role: "},
      {one_message({{"role", "user"}, {"content", 3}}), "messages[0].content: "},
      {one_message({{"role", "user"}, {"content", "a"}, {"images", {"x"}}}),
       "messages[0].images: "},
      {one_message({{"role", "tool"}, {"content", "x"}}), "messages[0]: "},
      {one_message(call), "messages[0].tool_calls[0].function.arguments: "},
      {{{"options", 3}}, "options: "},
      {{{"options", {{"temperature", "hot"}}}}, "options.temperature: "},
      {{{"options", {{"top_p", 2}}}}, "options.top_p: "},
      {{{"options", {{"num_predict", 1.5}}}}, "options.num_predict: "},
      {{{"options", {{"seed", "x"}}}}, "options.seed: "},
      {{{"options", {{"stop", {1}}}}}, "options.stop: "},
      {{{"options", {{"mirostat", 2}}}}, "options.mirostat: "},
      {{{"options", {{"typical_p", 0.5}}}}, "options.typical_p: "},
      {{{"format", "yaml"}}, "format: "},
      {{{"format", {{"type", "object"}, {"$ref", "http://example.org/x"}}}}, "format: "},
      {{{"think", "a lot"}}, "think: "},
      {{{"tools", 3}}, "tools: "},
      {{{"tools", many}}, "tools: 10000 tools"},
      {{{"tools", {{{"type", "function"}, {"function", {{"name", "two words"}}}}}}},
       "tools[0].function.name: "},
      {{{"template", "{{ .Prompt }}"}}, "template: "}};
  for (const auto& [more, begin] : cases) {
    EXPECT_TRUE(refusal("/api/chat", chat_of(more)).starts_with(begin))
        << refusal("/api/chat", chat_of(more)) << " instead of " << begin;
  }
  const std::pair<Json, const char*> generate_cases[] = {
      {{{"prompt", 3}}, "prompt: "},
      {{{"suffix", "x"}}, "suffix: "},
      {{{"images", {"x"}}}, "images: "},
      {{{"system", 3}}, "system: "},
      {{{"raw", true}, {"system", "x"}}, "system: "},
      {{{"raw", "yes"}}, "raw: "},
      {{{"template", "x"}}, "template: "}};
  for (const auto& [more, begin] : generate_cases) {
    EXPECT_TRUE(refusal("/api/generate", generate_of(more)).starts_with(begin))
        << refusal("/api/generate", generate_of(more)) << " instead of " << begin;
  }
}

TEST(OllamaErrors, LateOnesAreTheLastLine) {
  MockSettings settings;
  int steps = 0;
  settings.fault = [&](auto) {
    if (++steps > 15) throw std::runtime_error("the disk is full");
  };
  MockServer server(settings);
  const Answer answer = server.post("/api/chat", chat_of({{"stream", true}}));
  const auto lines = lines_of(answer);
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines.back().contains("error")) << answer.body;
  EXPECT_EQ(lines.back().size(), 1U);
}

}  // namespace
}  // namespace longhaul::serve
