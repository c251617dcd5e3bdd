#include "serve/output/reply_parser.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace longhaul::serve {
namespace {

using Json = nlohmann::ordered_json;

OfferedTools offered() {
  return OfferedTools(Json::parse(R"([
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties":
      {"city": {"type": "string"}, "days": {"type": "integer"}, "units": {"type": "array"}}}}},
    {"type": "function", "function": {"name": "now"}}])"));
}

std::vector<ReplyEvent> parsed(const ReplyFormat& format, std::string_view reply,
                               std::vector<size_t> cuts = {}, bool cut = false) {
  ReplyParser parser(format, offered());
  std::vector<ReplyEvent> events;
  size_t begin = 0;
  cuts.push_back(reply.size());
  for (const size_t end : cuts) {
    std::vector<ReplyEvent> more;  // as a server, which sends the events of each piece
    parser.push(reply.substr(begin, end - begin), more);
    events.insert(events.end(), more.begin(), more.end());
    begin = end;
  }
  std::vector<ReplyEvent> more;
  parser.finish(cut, more);
  events.insert(events.end(), more.begin(), more.end());
  return joined_events(events);
}

/// The visible parts, one a line.
std::string shown(const std::vector<ReplyEvent>& events) {
  std::string out;
  for (const ReplyEvent& event : events) {
    switch (event.kind) {
      case EventKind::kText:
        out += "text:" + event.text + "|";
        break;
      case EventKind::kReasoning:
        out += "think:" + event.text + "|";
        break;
      case EventKind::kCallBegin:
        out += "call:" + event.text + (event.id.empty() ? "" : "#" + event.id) + "|";
        break;
      case EventKind::kArguments:
        out += event.text + "|";
        break;
      case EventKind::kCallEnd:
        out += event.complete ? "end|" : "broken|";
        break;
      case EventKind::kWarning:
        out += "warning|";
        break;
      case EventKind::kMarkup:
        break;
    }
  }
  return out;
}

std::string raw_of(const std::vector<ReplyEvent>& events) {
  std::string raw;
  for (const ReplyEvent& event : events) raw += event.raw;
  return raw;
}

struct Case {
  CallFamily family;
  std::string reply, events;
  bool in_reasoning = false;
};

std::vector<Case> cases() {
  using enum CallFamily;
  return {
      {kNone, "Plain <b>text</b> {\"name\": 1}\n", "text:Plain <b>text</b> {\"name\": 1}\n|"},
      {kNone, "<think>\nHm. <x\n</think>\n\nYes.", "think:Hm. <x|text:Yes.|"},
      {kNone, "Hm.\n</think>\n\nYes <think> no", "think:Hm.|text:Yes <think> no|", true},
      {kHermes,
       "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bor}\\\"\", "
       "\"days\": 2}}\n"
       "</tool_call>\n<tool_call>{\"arguments\":{},\"name\":\"now\"}</tool_call>\n",
       "text:I look.|call:weather|{\"city\": \"Bor}\\\"\", \"days\": 2}|end|call:now|{}|end|"},
      {kHermes, "<think>a</think><tool_call>{\"name\": \"now\"}", "think:a|call:now|{}|end|"},
      {kHermes, "x <tool_call>no call</tool_call> y",
       "text:x <tool_call>|warning|text:no call</tool_call> y|"},
      {kHermes, "<tool_call>{\"name\": \"now\", \"arguments\": {\"a\" 1}}</tool_call>",
       "call:now|{\"a\" 1}|broken|warning|"},
      {kHermes, "<tool_call>{\"name\": \"now\", \"arguments\": \"{\\\"a\\\": 1}\"}</tool_call>.",
       "call:now|{\"a\": 1}|end|text:.|"},
      {kQwenCoder,
       "So:\n\n<tool_call>\n<function=weather>\n<parameter=city>\nSão "
       "\"P\"\n\n</parameter>\n<parameter=days>\n3\n"
       "</parameter>\n<parameter=units>\n[\"C\", 1]\n</parameter>\n</function>\n</tool_call>",
       "text:So:|call:weather|{\"city\": \"São \\\"P\\\"\\n\", \"days\": 3, \"units\": [\"C\", "
       "1]}|end|"},
      {kQwenCoder, "<function=now>\n</function>", "call:now|{}|end|"},
      {kLlama, "{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}",
       "call:weather|{\"city\": \"Oslo\"}|end|"},
      {kLlama,
       "<|python_tag|>{\"type\": \"function\", \"name\": \"now\", \"parameters\": {}}; "
       "{\"name\": \"now\", \"parameters\": {}}",
       "call:now|{}|end|call:now|{}|end|"},
      {kLlama, "{\"name\": \"Ada\", \"age\": 36}", "text:{\"name\": \"Ada\", \"age\": 36}|"},
      {kMistral,
       "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}, \"id\": \"a1\"}, "
       "{\"id\": \"b2\", \"name\": \"weather\", \"arguments\": {\"days\": 1}}]",
       "call:now|{}|end|call:weather#b2|{\"days\": 1}|end|"},
      {kMistral, "One.[TOOL_CALLS]weather[CALL_ID]x9[ARGS]{\"days\": 1}[TOOL_CALLS]now{}",
       "text:One.|call:weather#x9|{\"days\": 1}|end|call:now|{}|end|"},
      {kChannels,
       "<|channel|>analysis<|message|>I should look.<|end|><|start|>assistant<|channel|>commentary "
       "to=functions.weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}<|call|>",
       "think:I should look.|call:weather|{\"city\": \"Oslo\"}|end|"},
      {kChannels, "<|channel|>final<|message|>It rains.\n<|return|>", "text:It rains.\n|"},
      {kChannels, " to=functions.now<|channel|>commentary json<|message|>{}", "call:now|{}|end|"},
      {kBareJson, "\n{\"function\": {\"name\": \"now\", \"arguments\": {}}, \"id\": \"c\"}",
       "call:now|{}|end|"},
      {kBareJson, "{\"a\": 1} and {\"name\": \"now\", \"arguments\": {}}",
       "text:{\"a\": 1} and {\"name\": \"now\", \"arguments\": {}}|"},
  };
}

ReplyFormat format_of(const Case& c) {
  ReplyFormat format;
  format.family = c.family;
  format.begins_in_reasoning = c.in_reasoning;
  if (c.family == CallFamily::kChannels) format.reasoning_open = format.reasoning_close = "";
  return format;
}

TEST(ReplyParser, FindsTheParts) {
  for (const Case& c : cases()) {
    const auto events = parsed(format_of(c), c.reply);
    EXPECT_EQ(shown(events), c.events) << c.reply;
    EXPECT_EQ(raw_of(events), c.reply);
  }
}

TEST(ReplyParser, EventsDoNotDependOnPieces) {
  for (const Case& c : cases()) {
    const ReplyFormat format = format_of(c);
    for (size_t i = 0; i <= c.reply.size(); ++i) {
      for (size_t j = i; j <= c.reply.size(); ++j) {
        const auto events = parsed(format, c.reply, {i, j});
        ASSERT_EQ(shown(events), c.events) << c.reply << " cut at " << i << " and " << j;
        ASSERT_EQ(raw_of(events), c.reply);
      }
    }
    std::vector<size_t> all(c.reply.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    ASSERT_EQ(shown(parsed(format, c.reply, all)), c.events) << c.reply;
  }
}

TEST(ReplyParser, ACutCallIsIncomplete) {
  ReplyFormat format;
  format.family = CallFamily::kHermes;
  const std::string reply = "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Os";
  const auto events = parsed(format, reply, {}, true);
  EXPECT_EQ(shown(events), "call:weather|{\"city\": \"Os|broken|warning|");
  EXPECT_EQ(raw_of(events), reply);
  EXPECT_EQ(shown(parsed(format, "<tool_call>{\"name\": \"wea", {}, true)),
            "text:<tool_call>{\"name\": \"wea|warning|");
}

TEST(ReplyParser, MutatedRepliesLoseNothing) {
  const std::vector<Case> all = cases();
  std::mt19937 random(3);
  const std::vector<std::string> pieces = {"<tool_call>",
                                           "</tool_call>",
                                           "{",
                                           "}",
                                           "\"",
                                           "\\",
                                           "[",
                                           "]",
                                           "<think>",
                                           "</think>",
                                           "<|message|>",
                                           "<|channel|>",
                                           "null",
                                           "<function=",
                                           "</parameter>",
                                           "[TOOL_CALLS]",
                                           ",",
                                           "\n",
                                           "\xff"};
  for (int i = 0; i < 100'000; ++i) {
    const Case& c = all[random() % all.size()];
    std::string reply = c.reply;
    for (size_t n = 1 + random() % 3; n-- > 0;) {
      const size_t at = random() % (reply.size() + 1);
      if (random() % 2 == 0) {
        reply.insert(at, pieces[random() % pieces.size()]);
      } else {
        reply.erase(at, random() % 5);
      }
    }
    Case other = all[random() % all.size()];
    const ReplyFormat format = format_of(random() % 4 == 0 ? other : c);
    const auto whole = parsed(format, reply);
    ASSERT_EQ(raw_of(whole), reply);
    const auto pieced = parsed(format, reply, {std::min(reply.size(), size_t{random() % 50})});
    ASSERT_EQ(shown(whole), shown(pieced)) << reply;
  }
}

}  // namespace
}  // namespace longhaul::serve
