// 108 replies with tool calls: 18 sets of calls in each of the forms in which models write them.
// The parser finds the functions and arguments, however the reply is divided.

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "serve/output/reply_parser.h"

namespace longhaul::serve {
namespace {

using Json = nlohmann::ordered_json;

struct MadeCall {
  std::string name;
  Json arguments;
};
using MadeCalls = std::vector<MadeCall>;

OfferedTools tools_of_cases() {
  return OfferedTools(Json::parse(R"([
    {"type": "function", "function": {"name": "now"}},
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties":
      {"city": {"type": "string"}, "days": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "write_file", "parameters": {"type": "object", "properties":
      {"path": {"type": "string"}, "text": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "mcp__db.query", "parameters": {"type": "object", "properties":
      {"filter": {"type": "object"}, "tags": {"type": "array"}, "limit": {"type": "number"},
       "exact": {"type": "boolean"}, "note": {"type": "string"}}}}}])"));
}

std::vector<MadeCalls> sets_of_calls() {
  const auto weather = [](const char* city, int days) {
    return MadeCall{"weather", {{"city", city}, {"days", days}}};
  };
  const auto file = [](const char* path, const char* text) {
    return MadeCall{"write_file", {{"path", path}, {"text", text}}};
  };
  const MadeCall now{"now", Json::object()};
  const auto query = [](Json arguments) { return MadeCall{"mcp__db.query", std::move(arguments)}; };
  return {
      {now},
      {weather("Oslo", 3)},
      {weather("S\u00e3o Paulo", 0)},
      {weather("\u6771\u4eac \U0001f5fc", -1)},
      {weather("", 7)},
      {file("a.txt", "one line")},
      {file("a b/c.py", "def f(x):\n    return {\"x\": [x, '}']}\n\n")},
      {file("quotes", "\"'\\ \\n \t \"\"\"")},
      {file("tags", "<b>bold</b> & <function> is no tag")},
      {file("braces", "}}}{{{ ]] [[ \"}\"")},
      {query({{"filter", {{"age", {{"$gt", 3.5}}}, {"name", nullptr}}}, {"limit", 1e-3}})},
      {query({{"tags", {"a", "b\"c", Json::array(), Json::object()}}, {"exact", true}})},
      {query({{"note", "null"}, {"exact", false}, {"limit", 12345678901}})},
      {query({{"note", "3"}, {"filter", Json::object()}})},
      {now, now},
      {weather("Oslo", 1), weather("Bergen", 2)},
      {file("x", "1"), now, query({{"tags", {1, 2, 3}}})},
      {query({{"filter", {{"a", {{"b", {{"c", {{"d", {1, {{"e", "}"}}}}}}}}}}}}}),
       weather("Rome", 9)},
  };
}

std::string hermes(const MadeCalls& calls) {
  std::string reply = "I look.\n";
  for (const MadeCall& call : calls) {
    reply += "<tool_call>\n" + Json({{"name", call.name}, {"arguments", call.arguments}}).dump() +
             "\n</tool_call>\n";
  }
  return reply;
}

std::string qwen_coder(const MadeCalls& calls) {
  std::string reply = "I look.\n\n";
  for (const MadeCall& call : calls) {
    reply += "<tool_call>\n<function=" + call.name + ">\n";
    for (const auto& [name, value] : call.arguments.items()) {
      reply += "<parameter=" + name + ">\n";
      reply += value.is_string() ? value.get<std::string>() : value.dump();
      reply += "\n</parameter>\n";
    }
    reply += "</function>\n</tool_call>\n";
  }
  return reply;
}

std::string llama(const MadeCalls& calls) {
  std::string reply;
  for (const MadeCall& call : calls) {
    reply += reply.empty() ? "<|python_tag|>" : "; ";
    reply += Json({{"name", call.name}, {"parameters", call.arguments}}).dump();
  }
  return reply;
}

std::string mistral(const MadeCalls& calls) {
  Json list = Json::array();
  for (const MadeCall& call : calls) {
    list.push_back({{"name", call.name}, {"arguments", call.arguments}});
  }
  return "I look.[TOOL_CALLS]" + list.dump();
}

std::string new_mistral(const MadeCalls& calls) {
  std::string reply = "I look.";
  for (const MadeCall& call : calls) {
    reply += "[TOOL_CALLS]" + call.name + "[ARGS]" + call.arguments.dump();
  }
  return reply;
}

std::string channels(const MadeCalls& calls) {
  std::string reply = "<|channel|>analysis<|message|>I look.<|end|>";
  for (const MadeCall& call : calls) {
    reply += "<|start|>assistant<|channel|>commentary to=functions." + call.name +
             " <|constrain|>json<|message|>" + call.arguments.dump() + "<|call|>";
  }
  return reply;
}

std::vector<ReplyEvent> events_of(CallFamily family, const std::string& reply,
                                  const std::function<size_t()>& next_piece) {
  ReplyFormat format;
  format.family = family;
  if (family == CallFamily::kChannels) format.reasoning_open = format.reasoning_close = "";
  ReplyParser parser(format, tools_of_cases());
  std::vector<ReplyEvent> events;
  for (size_t at = 0; at < reply.size();) {
    const size_t bytes = next_piece();
    parser.push(std::string_view(reply).substr(at, bytes), events);
    at += bytes;
  }
  parser.finish(false, events);
  return joined_events(events);
}

/// The calls that a client puts together from the events.
MadeCalls calls_of(const std::vector<ReplyEvent>& events) {
  MadeCalls calls;
  std::string arguments;
  for (const ReplyEvent& event : events) {
    EXPECT_NE(event.kind, EventKind::kWarning) << event.text;
    if (event.kind == EventKind::kCallBegin) {
      calls.push_back({event.text, {}});
      arguments.clear();
    } else if (event.kind == EventKind::kArguments) {
      arguments += event.text;
    } else if (event.kind == EventKind::kCallEnd) {
      EXPECT_TRUE(event.complete);
      calls.back().arguments = Json::parse(arguments, nullptr, false);
    }
  }
  return calls;
}

bool same_events(const std::vector<ReplyEvent>& a, const std::vector<ReplyEvent>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const ReplyEvent& x, const ReplyEvent& y) {
        return x.kind == y.kind && x.text == y.text && x.id == y.id && x.complete == y.complete;
      });
}

TEST(ToolCalls, OfEveryFormAreFoundInPiecesAsInTheWhole) {
  using Writer = std::string (*)(const MadeCalls&);
  const std::pair<CallFamily, Writer> forms[] = {
      {CallFamily::kHermes, hermes},       {CallFamily::kQwenCoder, qwen_coder},
      {CallFamily::kLlama, llama},         {CallFamily::kMistral, mistral},
      {CallFamily::kMistral, new_mistral}, {CallFamily::kChannels, channels}};
  std::mt19937 random(45);
  int cases = 0;
  for (const auto& [family, write] : forms) {
    for (const MadeCalls& wanted : sets_of_calls()) {
      ++cases;
      const std::string reply = write(wanted);
      SCOPED_TRACE(reply);
      const auto whole = events_of(family, reply, [&] { return reply.size(); });
      const MadeCalls found = calls_of(whole);
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(found[i].name, wanted[i].name);
        EXPECT_EQ(found[i].arguments, wanted[i].arguments);
      }
      for (const size_t longest : {1, 3, 7, 40}) {
        const auto divided =
            events_of(family, reply, [&] { return 1 + static_cast<size_t>(random()) % longest; });
        EXPECT_TRUE(same_events(divided, whole)) << "pieces of up to " << longest << " bytes";
      }
    }
  }
  EXPECT_EQ(cases, 108);
}

}  // namespace
}  // namespace longhaul::serve
