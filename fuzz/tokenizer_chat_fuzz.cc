// Chat templates: the input's first text is a Jinja template or, where none is recognised, its
// length chooses one by name; each text after it is a message, whose first byte is its role. What
// is rendered is the messages between the template's own words, which do not depend on them.

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "input_parts.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/load_tokenizer.h"

namespace {

using namespace longhaul;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_line(const UserError& error) { check(std::strchr(error.what(), '\n') == nullptr); }

ChatTemplate chosen(std::string_view jinja) {
  try {
    return ChatTemplate::recognise(jinja, {"<s>", "</s>"});
  } catch (const UserError& error) {
    check_line(error);
  }
  const auto names = chat_template_names();
  return ChatTemplate::named(names[jinja.size() % names.size()]);
}

std::vector<ChatMessage> conversation(const std::vector<std::string_view>& texts) {
  std::vector<ChatMessage> messages;
  for (size_t i = 1; i < texts.size(); ++i) {
    const int role = texts[i].empty() ? 1 : static_cast<unsigned char>(texts[i][0]) % 3;
    messages.push_back({static_cast<ChatRole>(role),
                        std::string(texts[i].substr(std::min<size_t>(1, texts[i].size())))});
  }
  return messages;
}

/// What may become control tokens.
std::string own_words(const std::vector<TextSegment>& segments) {
  std::string words;
  for (const TextSegment& segment : segments) words += segment.parse_special ? segment.text : "";
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer nano = load_tokenizer_folder(
      std::filesystem::path(__FILE__).parent_path().parent_path() / "models" / "nano");
  const auto texts = fuzzing::parts(data, size, 2);
  const ChatTemplate chat = chosen(texts[0]);
  std::vector<ChatMessage> messages = conversation(texts);
  try {
    for (const bool generate : {true, false}) {
      const auto segments = chat.segments(messages, generate);
      std::vector<ChatMessage> harmless = messages;
      for (ChatMessage& message : harmless) message.content = "x";
      check(own_words(segments) == own_words(chat.segments(harmless, generate)));
      std::string joined;
      for (const TextSegment& segment : segments) joined += segment.text;
      check(joined == chat.render(messages, generate));
      nano.encode(segments, false);
    }
    for (const bool closed : {true, false}) {
      const std::string& text = messages.back().content;
      check(own_words(chat.further_turn(text, closed)) ==
            own_words(chat.further_turn("x", closed)));
    }
  } catch (const UserError& error) {
    check_line(error);
  }
  return 0;
}
