#pragma once
// A mock server whose model has the chat template of another one.

#include <cstdlib>
#include <fstream>

#include "mock_server.h"

namespace longhaul::serve::testing_support {

/// A template of tests/data/tokenizer/chat.
inline ChatTemplate template_named(const std::string& name) {
  std::ifstream in(LONGHAUL_TEST_DATA "/tokenizer/chat/" + name + ".jinja");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_FALSE(text.empty()) << name;
  return ChatTemplate::from_text(text, {"<s>", "</s>", "", ""}, name);
}

/// The request in a file of tests/serve/agents.
inline Json agent_request(const std::string& name) {
  const char* other = std::getenv("LONGHAUL_TEST_DATA");
  const std::string data = other != nullptr ? other : LONGHAUL_TEST_DATA;
  std::ifstream in(data + "/../serve/agents/" + name);
  return Json::parse(in)["request"];
}

class ChatServer : public MockServer {
 public:
  explicit ChatServer(const std::string& name, ServiceOptions options = {},
                      SchedulerOptions scheduling = {})
      : MockServer({}, std::move(options), std::move(scheduling)) {
    if (!name.empty()) model().use_template(template_named(name));
  }
};

/// Tokens of a text of the model.
inline int64_t nano_tokens(const std::string& text) {
  return std::ssize(nano()->tokenizer().encode(text, {.add_special = false}));
}

/// Two functions as OpenAI's API has them.
inline Json weather_tools() {
  return Json::parse(R"([
    {"type": "function", "function": {"name": "weather", "description": "Tells the weather.",
     "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo"]}},
                    "required": ["city"]}}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}])");
}

inline Json user_says(const std::string& text) {
  return Json::array({{{"role", "user"}, {"content", text}}});
}

}  // namespace longhaul::serve::testing_support
