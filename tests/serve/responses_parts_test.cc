// Parts of the Responses API that need no server: tools, input items, free text, kept responses.

#include <gtest/gtest.h>

#include "serve/api/api_error.h"
#include "serve/api/freeform_input.h"
#include "serve/api/progress_pace.h"
#include "serve/api/response_store.h"
#include "serve/api/responses_input.h"
#include "serve/api/responses_tools.h"

namespace longhaul::serve {
namespace {

/// The message of the refusal, which begins with the field's name.
template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    EXPECT_FALSE(error.param.empty());
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST(FreeformInput, DecodesTextInAnyPieces) {
  const std::string text = "*** Begin Patch\n\"q\" \\ / \t\u00e9 \xf0\x9f\x98\x80 end";
  const std::string plain = Json({{"input", text}}).dump();
  const std::string escaped = Json({{"input", text}}).dump(-1, ' ', true);
  for (const std::string& json : {plain, escaped, " { \"input\" :\n" + plain.substr(9)}) {
    for (size_t cut = 0; cut <= json.size(); ++cut) {
      FreeformInput input;
      std::string made = input.push(json.substr(0, cut));
      made += input.push(json.substr(cut));
      made += input.finish();
      ASSERT_EQ(made, text) << json << " cut at " << cut;
    }
  }
}

TEST(FreeformInput, AcceptsOtherArguments) {
  const auto decoded = [](const std::string& json) {
    FreeformInput input;
    const std::string first = input.push(json);
    return first + input.finish();
  };
  EXPECT_EQ(decoded(R"({"patch": "a\nb"})"), "a\nb") << "the only text";
  EXPECT_EQ(decoded(R"({"why": 1, "input": "x"})"), "x");
  EXPECT_EQ(decoded(R"({"a": "1", "b": "2"})"), R"({"a": "1", "b": "2"})");
  EXPECT_EQ(decoded(R"({"input": "\ud83d"})"), "\xef\xbf\xbd") << "half of a pair";
  EXPECT_EQ(decoded("no JSON"), "no JSON");
}

TEST(ResponseStore, KeepsTheMostRecentOfEachKey) {
  ResponseStore store(2, 100);
  store.keep("ann", "a", {"response", "[]", "[]"});
  EXPECT_EQ(store.find("bob", "a"), nullptr) << "another key";
  ASSERT_NE(store.find("ann", "a"), nullptr);
  EXPECT_EQ(store.find("ann", "a")->response, "response");
  store.keep("ann", "b", {"", "", ""});
  EXPECT_NE(store.find("ann", "a"), nullptr);  // used again
  store.keep("ann", "c", {"", "", ""});
  EXPECT_EQ(store.find("ann", "b"), nullptr) << "the least recently used one left";
  store.keep("ann", "d", {std::string(99, 'x'), "", ""});
  EXPECT_EQ(store.find("ann", "a"), nullptr) << "bytes count as well";
  store.keep("ann", "e", {std::string(101, 'x'), "", ""});
  EXPECT_EQ(store.find("ann", "e"), nullptr) << "larger than the store";
  EXPECT_NE(store.find("ann", "d"), nullptr);
  EXPECT_FALSE(store.erase("bob", "d"));
  EXPECT_TRUE(store.erase("ann", "d"));
  EXPECT_FALSE(store.erase("ann", "d"));
}

TEST(ProgressPace, Slows) {
  ProgressPace pace;
  int events = 0;
  for (int i = 0; i < 6000; ++i) events += pace.due(i * 0.1) ? 1 : 0;
  EXPECT_TRUE(events > 40 && events < 50) << events << " in ten minutes";
}

const Json kTools = Json::parse(R"([
  {"type": "function", "name": "run", "description": "d", "strict": false,
   "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}},
  {"type": "custom", "name": "patch", "description": "Edits files.",
   "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
  {"type": "namespace", "name": "agents", "description": "n", "tools": [
    {"type": "function", "name": "run"}, {"type": "custom", "name": "note"}]},
  {"type": "web_search"}])");

TEST(ResponsesTools, BecomeFunctions) {
  std::vector<std::string> warnings;
  const ResponsesTools tools(&kTools, nullptr, warnings);
  ASSERT_EQ(tools.functions().size(), 4U);
  EXPECT_EQ(tools.functions()[0]["function"]["parameters"]["properties"].size(), 1U);
  const Json& patch = tools.functions()[1]["function"];
  EXPECT_EQ(patch["parameters"]["required"], Json({"input"}));
  EXPECT_NE(patch["description"].get<std::string>().find("start: x"), std::string::npos);
  EXPECT_EQ(tools.functions()[2]["function"]["name"], "agents.run");
  ASSERT_NE(tools.find("agents.note"), nullptr);
  EXPECT_EQ(tools.find("agents.note")->name, "note");
  EXPECT_EQ(tools.find("agents.note")->space, "agents");
  EXPECT_TRUE(tools.find("agents.note")->custom);
  EXPECT_FALSE(tools.find("run")->custom);
  EXPECT_EQ(tools.find("other"), nullptr);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("tools[3]: web_search was left out")) << warnings[0];
}

TEST(ResponsesTools, AreChosen) {
  using Kind = ToolChoice::Kind;
  std::vector<std::string> warnings;
  const auto choice = [&](const char* json) {
    const Json value = Json::parse(json);
    return ResponsesTools(&kTools, &value, warnings);
  };
  EXPECT_EQ(choice(R"("auto")").choice().kind, Kind::kAuto);
  EXPECT_EQ(choice(R"("none")").choice().kind, Kind::kNone);
  EXPECT_EQ(choice(R"("required")").choice().kind, Kind::kRequired);
  EXPECT_EQ(choice(R"({"type": "custom", "name": "patch"})").choice().function, "patch");
  EXPECT_EQ(
      choice(R"({"type": "function", "namespace": "agents", "name": "run"})").choice().function,
      "agents.run");
  const auto some = choice(
      R"({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "run"},
          {"type": "web_search"}]})");
  EXPECT_EQ(some.functions().size(), 1U);
  EXPECT_EQ(some.choice().kind, Kind::kRequired);
}

TEST(ResponsesTools, AreRefusedByName) {
  const auto refusal = [](const char* json, const char* choice = "null") {
    std::vector<std::string> warnings;
    const Json tools = Json::parse(json), chosen = Json::parse(choice);
    return refusal_of(
        [&] { ResponsesTools(&tools, chosen.is_null() ? nullptr : &chosen, warnings); });
  };
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "tools: "},
      {"[1]", "tools[0]: "},
      {"[{}]", "tools[0].type: "},
      {R"([{"type": 3}])", "tools[0].type: "},
      {R"([{"type": "function"}])", "tools[0].name: is missing"},
      {R"([{"type": "function", "name": "two words"}])", "tools[0].name: "},
      {R"([{"type": "function", "name": "a", "parameters": []}])", "tools[0].parameters: "},
      {R"([{"type": "function", "name": "a"}, {"type": "custom", "name": "a"}])",
       "tools[1].name: 'a' occurs twice"},
      {R"([{"type": "custom", "name": "a", "format": {"type": "x"}}])", "tools[0].format.type: "},
      {R"([{"type": "custom", "name": "a", "format": {"type": "grammar"}}])",
       "tools[0].format.definition: "},
      {R"([{"type": "namespace", "name": "a"}])", "tools[0].tools: "},
      {R"([{"type": "namespace", "name": "a", "tools": [{"type": "namespace", "name": "b"}]}])",
       "tools[0].tools[0]: "}};
  for (const auto& [json, begin] : cases) {
    EXPECT_TRUE(refusal(json).starts_with(begin)) << json << ": " << refusal(json);
  }
  Json many = Json::array();
  for (int i = 0; i < 10000; ++i) {
    many.push_back({{"type", "function"}, {"name", "f" + std::to_string(i)}});
  }
  EXPECT_EQ(refusal(many.dump().c_str()), "tools: 10000 tools; at most 512");
  const char* one = R"([{"type": "function", "name": "a"}, {"type": "web_search"}])";
  EXPECT_TRUE(
      refusal(one, R"({"type": "web_search"})").starts_with("tool_choice: demands web_search"));
  EXPECT_EQ(refusal(one, R"({"type": "function", "name": "b"})"),
            "tool_choice: no tool is named 'b'");
  EXPECT_TRUE(refusal(one, R"("any")").starts_with("tool_choice: "));
  EXPECT_TRUE(refusal(R"([{"type": "web_search"}])", R"("required")").starts_with("tool_choice: "));
}

Json read(const char* input, std::vector<std::string>& warnings) {
  InputFiles files;
  return messages_of_input(Json::parse(input), Json::array(), warnings, files);
}

TEST(ResponsesInput, ItemsOfOneReplyAreOneMessage) {
  std::vector<std::string> warnings;
  const Json messages = read(R"([
    {"role": "user", "content": "Hi"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "content": null,
     "encrypted_content": null},
    {"type": "message", "role": "assistant", "content": [
      {"type": "output_text", "text": "Yes.", "annotations": []}, {"type": "output_text", "text": "No."}]},
    {"type": "function_call", "call_id": "c1", "name": "run", "namespace": "agents", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "a\"b"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "ok"}]},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "fine"},
    {"type": "compaction", "encrypted_content": "x"},
    {"type": "message", "role": "developer", "content": "Short."}])",
                             warnings);
  ASSERT_EQ(messages.size(), 5U) << messages;
  EXPECT_EQ(messages[0], Json({{"role", "user"}, {"content", "Hi"}}));
  EXPECT_EQ(messages[1]["reasoning_content"], "Hm.");
  EXPECT_EQ(messages[1]["content"], "Yes.\nNo.");
  ASSERT_EQ(messages[1]["tool_calls"].size(), 2U);
  EXPECT_EQ(messages[1]["tool_calls"][0]["function"]["name"], "agents.run");
  EXPECT_EQ(messages[1]["tool_calls"][1]["function"]["arguments"], R"({"input":"a\"b"})");
  EXPECT_EQ(messages[2]["tool_call_id"], "c2");
  EXPECT_EQ(messages[2]["name"], "patch");
  EXPECT_EQ(messages[2]["content"], "ok");
  EXPECT_EQ(messages[3]["content"], "fine");
  EXPECT_EQ(messages[4]["role"], "system");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "input[7]: an item of the type compaction was left out");
}

TEST(ResponsesInput, SystemMessagesAtTheStartAreOne) {
  std::vector<std::string> warnings;
  Json messages =
      read(R"([{"role": "developer", "content": "A"}, {"role": "system", "content": "B"},
                           {"role": "user", "content": "C"}, {"role": "developer", "content": "D"}])",
           warnings);
  const Json whole = with_instructions("I", messages);
  ASSERT_EQ(whole.size(), 3U);
  EXPECT_EQ(whole[0], Json({{"role", "system"}, {"content", "I\n\nA\n\nB"}}));
  EXPECT_EQ(whole[2]["role"], "system");
  EXPECT_EQ(with_instructions("", read("\"Hi\"", warnings)).size(), 1U);
}

TEST(ResponsesInput, IsRefusedByName) {
  const std::string call =
      R"({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"})";
  const std::string result = R"({"type": "function_call_output", "call_id": "c", "output": "x"})";
  const std::pair<std::string, const char*> cases[] = {
      {"3", "input: "},
      {"[3]", "input[0]: "},
      {"[{}]", "input[0].type: is missing"},
      {R"([{"role": "wizard", "content": ""}])", "input[0].role: "},
      {R"([{"role": "user"}])", "input[0].content: is missing"},
      {R"([{"role": "user", "content": 4}])", "input[0].content: "},
      {R"([{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}])",
       "input[0].content[0].type: "},
      {R"([{"role": "user", "content": [{"type": "input_text"}]}])", "input[0].content[0].text: "},
      {"[" + result + "]", "input[0].call_id: no call before this result"},
      {"[" + call + "," + result + "," + result + "]",
       "input[2].call_id: the call 'c' has a result"},
      {"[" + call + "," + call + "]", "input[1].call_id: 'c' is the id of two calls"},
      {R"([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{"}])",
       "input[0].arguments: are not JSON"},
      {R"([{"type": "function_call", "name": "f", "arguments": "{}"}])", "input[0].call_id: "},
      {R"([{"type": "item_reference", "id": "x"}])", "input[0]: "}};
  for (const auto& [input, begin] : cases) {
    std::vector<std::string> warnings;
    const std::string refusal = refusal_of([&] { read(input.c_str(), warnings); });
    EXPECT_TRUE(refusal.starts_with(begin)) << input << ": " << refusal;
  }
}

}  // namespace
}  // namespace longhaul::serve
