#include "serve/output/forced_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "serve/output/reply_parser.h"

namespace longhaul::serve {
namespace {

using Json = nlohmann::ordered_json;

const Json& call_tools() {
  static const Json tools = Json::parse(R"([
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties":
      {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}}},
    {"type": "function", "function": {"name": "now"}}])");
  return tools;
}

bool matches(const grammar::Grammar& grammar, const std::string& text) {
  std::vector<std::string> bytes(257);
  for (size_t i = 0; i < 256; ++i) bytes[i] = std::string(1, static_cast<char>(i));
  const std::vector<std::string_view> views(bytes.begin(), bytes.end());
  grammar::GrammarState state(
      grammar, std::make_shared<const grammar::TokenTrie>(views, std::vector<int32_t>{256}));
  return state.accept_bytes(text) && state.may_end();
}

TEST(ForcedCall, HoldsTheReplyToTheModelsForm) {
  const std::pair<CallFamily, std::string> replies[] = {
      {CallFamily::kHermes,
       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": "
       "2}}\n</tool_call>"},
      {CallFamily::kLlama,
       "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\", \"days\": 2}}"},
      {CallFamily::kMistral,
       "[{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}]"},
      {CallFamily::kQwenCoder,
       "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</"
       "parameter>\n<parameter=days>\n2\n"
       "</parameter>\n</function>\n</tool_call>"},
      {CallFamily::kChannels, "{\"city\": \"Oslo\", \"days\": 2}"},
      {CallFamily::kBareJson,
       "{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 2}}"}};
  for (const auto& [family, reply] : replies) {
    ReplyFormat format;
    format.family = family;
    const ForcedCall call = forced_call(format, call_tools(), "weather");
    EXPECT_TRUE(matches(call.grammar, reply)) << name_of(family);
    EXPECT_FALSE(matches(call.grammar, "It rains.")) << name_of(family);
    // The parser finds the call again.
    ReplyParser parser(format, OfferedTools(call_tools()));
    std::vector<ReplyEvent> events;
    parser.push(call.prompt_end + reply, events);
    parser.finish(false, events);
    std::string name, arguments;
    for (const ReplyEvent& event : events) {
      if (event.kind == EventKind::kCallBegin) name = event.text;
      if (event.kind == EventKind::kArguments) arguments += event.text;
      EXPECT_NE(event.kind, EventKind::kText) << name_of(family) << event.text;
    }
    EXPECT_EQ(name, "weather") << name_of(family);
    EXPECT_EQ(Json::parse(arguments), Json::parse(R"({"city": "Oslo", "days": 2})"))
        << name_of(family);
  }
}

TEST(ForcedCall, AllowsAnyFunction) {
  ReplyFormat format;
  format.family = CallFamily::kHermes;
  const ForcedCall call = forced_call(format, call_tools(), "");
  EXPECT_TRUE(
      matches(call.grammar, "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>"));
  EXPECT_FALSE(matches(call.grammar,
                       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>"));
}

TEST(ForcedCall, RefusesWithNames) {
  const auto refused = [](CallFamily family, const Json& tools, const char* name) -> std::string {
    ReplyFormat format;
    format.family = family;
    try {
      forced_call(format, tools, name);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused(CallFamily::kHermes, call_tools(), "rain"),
            "tool_choice: no tool is named 'rain'");
  EXPECT_EQ(refused(CallFamily::kHermes, nullptr, ""),
            "tool_choice demands a call, and there are no tools");
  EXPECT_EQ(refused(CallFamily::kChannels, call_tools(), ""),
            "tool_choice: this model can be held to one function, not to one of 2");
  const Json odd = Json::parse(R"([{"name": "f", "parameters": {"not": {}}}])");
  EXPECT_EQ(refused(CallFamily::kHermes, odd, "f"),
            "tool 'f': JSON schema: unsupported keyword not");
}

}  // namespace
}  // namespace longhaul::serve
