// Requests of coding agents: 400 KiB of JSON with 60 tools become a conversation.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "chat_server.h"
#include "serve/api/anthropic_blocks.h"
#include "serve/api/conversation.h"
#include "serve/api/writers.h"

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

/// Processor seconds of this thread, which do not depend on the load of the machine.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// The least processor time of some calls, in milliseconds.
template <class Work>
double least_ms(Work&& work) {
  double least = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double begin = thread_seconds();
    work();
    least = std::min(least, (thread_seconds() - begin) * 1000);
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

constexpr int kPieces = 2000;

/// Microseconds of one event of a stream: from a token's text to the bytes that are sent.
double event_us(testing_support::ChatServer& server, decltype(read_chat)& read, const char* path) {
  http::HttpRequest sent;
  sent.path = path;
  sent.body = Json{{"model", "nano"},
                   {"max_tokens", kPieces},
                   {"stream", true},
                   {"input", "Hello."},
                   {"messages", testing_support::user_says("Hello.")}}
                  .dump();
  GenerationRequest request = read(server.model(), sent, "");
  const std::shared_ptr<Job> job = request.jobs.at(0);
  std::shared_ptr<http::EventStream> events;
  http::Exchange::Way way;
  way.stream = [&](http::HttpResponse, std::shared_ptr<http::EventStream> stream) {
    events = std::move(stream);
  };
  const std::shared_ptr<const ServedModel> model(std::shared_ptr<void>(), &server.model());
  const auto exchange = std::make_shared<http::Exchange>(std::move(sent), std::move(way));
  ReplyWriter::attach(make_writer(model, std::move(request), exchange));
  job->sink->accepted();
  JobReport report;
  size_t bytes = 0;
  const double begin = thread_seconds();
  for (int i = 0; i < kPieces; ++i) {
    ReplyPiece piece;
    piece.text = " word";
    piece.tokens.push_back({.id = 300, .logprob = 0, .best = {}});
    report.reply_tokens = i + 1;
    job->sink->piece(0, piece, report);
    if (events) bytes += events->take().size();
  }
  const double seconds = thread_seconds() - begin;
  EXPECT_GT(bytes, size_t{kPieces} * 20) << path;
  return seconds * 1e6 / kPieces;
}

/// The limit finds only events whose time grows with the reply.
TEST(Translation, OfTheEventsOfAReply) {
  testing_support::ChatServer server("qwen3");
  const std::tuple<const char*, decltype(read_chat)*, const char*> apis[] = {
      {"chat", read_chat, "/v1/chat/completions"},
      {"messages", read_messages, "/v1/messages"},
      {"responses", read_responses, "/v1/responses"},
      {"ollama", read_ollama_chat, "/api/chat"}};
  for (const auto& [name, read, path] : apis) {
    double least = 1e9;
    for (int i = 0; i < 5; ++i) least = std::min(least, event_us(server, *read, path));
    RecordProperty(std::string(name) + "_event_ns", static_cast<int>(least * 1000));
    EXPECT_LT(least, 2000) << name;
  }
}

}  // namespace
}  // namespace longhaul::serve
