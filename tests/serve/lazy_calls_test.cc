// Calls are held to their form from the mark that starts them.

#include <gtest/gtest.h>

#include "serve/api/call_form.h"
#include "serve/api/reply_form.h"
#include "serve/mock_server.h"
#include "serve/output/reply_parser.h"

namespace longhaul::serve {
namespace {

using testing_support::MockServer;
using testing_support::nano;

const Json& weather_and_now() {
  static const Json tools = Json::parse(R"([
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties":
      {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "now"}}])");
  return tools;
}

/// Reads the text token by token. Returns the number of bytes before the first token that is not
/// allowed; npos: there is none.
size_t refused_at(grammar::Constraint& constraint, const std::string& text) {
  std::vector<uint64_t> mask(constraint.mask_words());
  size_t at = 0;
  for (const int32_t token : nano()->tokenizer().encode(text, {.add_special = false})) {
    if (constraint.active()) {
      constraint.allowed(mask);
      const auto id = static_cast<size_t>(token);
      if ((mask[id / 64] >> (id % 64) & 1) == 0) return at;
    }
    constraint.accept(token);
    at += nano()->tokenizer().piece(token).size();
  }
  return std::string::npos;
}

struct LazyCase {
  CallFamily family;
  std::string mark, call, broken;
};

const std::vector<LazyCase>& lazy_cases() {
  static const std::vector<LazyCase> cases = {
      {CallFamily::kHermes, "<tool_call>",
       "\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
       "\n{\"name\": \"rain\""},
      {CallFamily::kQwenCoder, "<tool_call>",
       "\n<function=weather>\n<parameter=city>\nOslo <b>x</b> </p "
       "</parameter>\n<parameter=days>\n2\n"
       "</parameter>\n</function>\n</tool_call>",
       "\n<function=weather>\n<parameter=rain>"},
      {CallFamily::kLlama, "<|python_tag|>",
       "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}",
       "{\"name\": \"weather\", \"parameters\": {\"city\": 7"},
      {CallFamily::kMistral, "[TOOL_CALLS][",
       "{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}", "{\"name\": 7"},
      {CallFamily::kChannels, "<|constrain|>json<|message|>", "{\"city\": \"Oslo\"}", "Oslo"}};
  return cases;
}

TEST(LazyCalls, AreHeldToTheirFormAfterTheMark) {
  MockServer server;
  for (const LazyCase& each : lazy_cases()) {
    ReplyFormat format;
    format.family = each.family;
    auto constraint = call_constraint(server.model(), format, weather_and_now());
    ASSERT_TRUE(constraint) << name_of(each.family);
    const std::string free = "Text with {\"name\": 7} is free. ";
    grammar::Constraint right = *constraint, wrong = *constraint;
    EXPECT_FALSE(right.active());
    const std::string whole = free + each.mark + each.call;
    EXPECT_EQ(refused_at(right, whole), std::string::npos) << name_of(each.family);
    EXPECT_FALSE(right.active()) << name_of(each.family) << ": free after the call";
    EXPECT_EQ(refused_at(right, " And then?"), std::string::npos);
    EXPECT_NE(refused_at(wrong, free + each.mark + each.broken), std::string::npos)
        << name_of(each.family);
  }
}

TEST(LazyCalls, AreCallsForTheParser) {
  for (const LazyCase& each : lazy_cases()) {
    if (each.family == CallFamily::kChannels) continue;  // its header names the function
    ReplyFormat format;
    format.family = each.family;
    ReplyParser parser(format, OfferedTools(weather_and_now()));
    std::vector<ReplyEvent> events;
    parser.push(each.mark + each.call + (each.family == CallFamily::kMistral ? "]" : ""), events);
    parser.finish(false, events);
    std::string arguments;
    bool complete = false;
    for (const ReplyEvent& event : events) {
      if (event.kind == EventKind::kArguments) arguments += event.text;
      if (event.kind == EventKind::kCallEnd) complete = event.complete;
    }
    EXPECT_TRUE(complete) << name_of(each.family);
    EXPECT_TRUE(Json::accept(arguments)) << arguments;
  }
}

TEST(LazyCalls, BareObjectsAreFree) {
  MockServer server;
  ReplyFormat format;
  format.family = CallFamily::kBareJson;
  EXPECT_FALSE(call_constraint(server.model(), format, weather_and_now()));
}

}  // namespace
}  // namespace longhaul::serve
