// Chat formats against what jinja2 renders from the models' own templates.

#include "tokenizer/chat_template.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error_of.h"
#include "tokenizer/test_paths.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;

std::string jinja_of(const std::string& name) {
  return read_whole(tokenizer_data() / "chat" / (name + ".jinja"));
}

ChatTemplate template_of(const std::string& name) {
  return ChatTemplate::recognise(jinja_of(name), {"<BOS>", "<EOS>"});
}

std::vector<ChatMessage> messages_of(const nlohmann::json& list) {
  std::vector<ChatMessage> out;
  for (const nlohmann::json& entry : list) {
    const std::string role = entry["role"];
    const ChatRole kind = role == "system"      ? ChatRole::system
                          : role == "assistant" ? ChatRole::assistant
                                                : ChatRole::user;
    out.push_back({kind, entry["content"]});
  }
  return out;
}

const std::map<std::string, std::string> kFormats = {
    {"openhermes", "chatml"},
    {"chatml-default", "chatml"},
    {"chatml-apostrophe", "chatml"},
    {"chatml-escapes", "chatml"},
    {"yi-1.5", "yi-1.5"},
    {"zephyr", "zephyr"},
    {"smollm2", "smollm2"},
    {"qwen2", "qwen2"},
    {"qwen2-finetune", "qwen2"},
    {"qwen2.5", "qwen2.5"},
    {"qwen3", "qwen3"},
    {"llama2", "llama2"},
    {"llama3", "llama3"},
    {"llama3.1", "llama3.1"},
    {"llama3.1-dated", "llama3.1"},
    {"llama3.2", "llama3.1"},
    {"llama3.3", "llama3.1"},
    {"mistral-7b-v0.1", "mistral-v0.1"},
    {"mistral-7b-v0.2", "mistral-v0.2"},
    {"mistral-7b-v0.2-v1", "mistral-v1"},
    {"mistral-large-2407", "mistral-v3"},
    {"mistral-nemo", "mistral-v3-tekken"},
    {"mistral-large-2411", "mistral-v7"},
    {"phi3-mini", "phi3-no-system"},
    {"phi3-medium", "phi3-no-system"},
    {"phi3.5", "phi3"},
};

TEST(ChatTemplate, RecognisesEachModelsTemplate) {
  for (const auto& [file, format] : kFormats) {
    EXPECT_EQ(template_of(file).name(), format) << file;
  }
}

TEST(ChatTemplate, RendersAsJinja) {
  const auto cases = nlohmann::json::parse(read_whole(tokenizer_data() / "chat" / "golden.json"));
  size_t checked = 0;
  for (const nlohmann::json& entry : cases) {
    const std::string name = entry["template"];
    ASSERT_EQ(kFormats.count(name), 1u) << name;
    const ChatTemplate chat = template_of(name);
    const std::vector<ChatMessage> messages = messages_of(entry["messages"]);
    const bool asks = messages.back().role == ChatRole::user;
    const bool drops_system = name.starts_with("phi3-m") && messages[0].role == ChatRole::system;
    if (entry["expected"].is_null() || drops_system) {
      EXPECT_THROW(chat.render(messages, asks), UserError) << name << " " << entry["conversation"];
    } else {
      EXPECT_EQ(chat.render(messages, asks), entry["expected"].get<std::string>())
          << name << " " << entry["conversation"];
    }
    ++checked;
  }
  EXPECT_EQ(checked, kFormats.size() * 10 - 1);
}

TEST(ChatTemplate, FurtherTurnContinuesTheConversation) {
  const std::vector<ChatMessage> first = {{ChatRole::user, "Hello"}};
  std::vector<ChatMessage> all = first;
  all.push_back({ChatRole::assistant, "Hi there"});
  all.push_back({ChatRole::user, "Who are you"});
  for (const auto& [file, format] : kFormats) {
    // Formats that write a space before a reply that is there already, but leave it to the model
    // to begin with one.
    if (format == "llama2" || format == "mistral-v1" || format == "mistral-v3" ||
        format == "mistral-v7") {
      continue;
    }
    const ChatTemplate chat = template_of(file);
    std::string text = chat.render(first, true) + "Hi there";
    for (const TextSegment& segment : chat.further_turn("Who are you", false)) text += segment.text;
    EXPECT_EQ(text, chat.render(all, true)) << file;
  }
  const ChatTemplate llama2 = ChatTemplate::named("llama2");
  std::string text = llama2.render(first, true) + " Hi there";
  for (const TextSegment& segment : llama2.further_turn("Who are you", false)) text += segment.text;
  EXPECT_EQ(text, llama2.render(all, true));
}

TEST(ChatTemplate, ClosedReplyIsNotClosedAgain) {
  const auto join = [](const std::vector<TextSegment>& segments) {
    std::string out;
    for (const TextSegment& segment : segments) out += segment.text;
    return out;
  };
  const ChatTemplate chat = ChatTemplate::named("chatml");
  EXPECT_EQ(join(chat.further_turn("x", true)),
            "\n<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(join(chat.further_turn("x", false)),
            "<|im_end|>\n<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatTemplate, OnlyTheTemplatesTextMayNameControlTokens) {
  for (const std::string_view name : chat_template_names()) {
    const ChatTemplate chat = ChatTemplate::named(name);
    for (const TextSegment& segment : chat.segments({{{ChatRole::user, "USER"}}}, true)) {
      EXPECT_EQ(segment.parse_special, segment.text.find("USER") == std::string::npos) << name;
    }
  }
}

TEST(ChatTemplate, EveryFormatHasAName) {
  for (const std::string_view name : chat_template_names()) {
    EXPECT_EQ(ChatTemplate::named(name).name(), name);
  }
}

TEST(ChatTemplate, UnknownTemplateNamesTheWayOut) {
  const char* unknown[] = {
      "",
      "{% for m in messages %}<start_of_turn>{{ m['role'] }}{{ m['content'] }}{% endfor %}",
      "{{ '<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>' }}",
      "{{ '<|im_start|>' + message['content'] | trim + '<|im_end|>' }}",
      "{{ bos_token }}{% set system_message = 'Be kind' %}{% if true == true %}<<SYS>>{% endif %}"
      "{{ '[INST] ' + content.strip() + ' [/INST]' }}",
      "{{ '<|im_start|>assistant\n<think>\n' }}",
      // No line break behind a turn; a system message without a turn; one that is partly computed.
      "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' }}{% endfor %}",
      "{% set system_message = 'Be kind' %}{{ system_message }}"
      "{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n<|im_start|>assistant\\n' }}",
      "{{ '<|im_start|>system\\nToday is ' + date + '<|im_end|>\\n' }}"
      "{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n<|im_start|>assistant\\n' }}",
      // A reply of another role, and one with a default that has an escape of its own.
      "{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n<|im_start|>text\\n' }}",
      "{% set system_message = 'It\\u2019s' %}"
      "{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n<|im_start|>assistant\\n' }}",
      "{% set system_message = 'Be kind' %}{{ bos_token + '[INST] ' + content + ' [/INST]' }}",
      // Llama 3 with a system turn that is always there, and with a message of its own.
      "{{ '<|start_header_id|>system<|end_header_id|>\\n\\n' + system | trim + '<|eot_id|>' }}",
      "{% set system_message = 'Be kind' %}{{ '<|start_header_id|>' + role + '<|end_header_id|>' }}"
      "{{ content | trim }}",
  };
  for (const char* jinja : unknown) {
    EXPECT_TRUE(has(error_of([&] { ChatTemplate::recognise(jinja, {}, "m.gguf"); }),
                    {"m.gguf: ", "--chat-template NAME", "llama3.1", "--raw"}))
        << jinja;
  }
  EXPECT_THROW(ChatTemplate::named("chatlm"), UserError);
}

TEST(ChatTemplate, SystemMessageMustComeFirst) {
  const ChatTemplate chat = ChatTemplate::named("chatml");
  EXPECT_THROW(chat.render({{{ChatRole::user, "a"}, {ChatRole::system, "b"}}}, true), UserError);
  EXPECT_EQ(ChatTemplate::named("qwen2").default_system(), "You are a helpful assistant.");
}

TEST(ChatTemplate, NoThinkPromptClosesTheThinking) {
  EXPECT_EQ(ChatTemplate::named("qwen3-no-think").render({{{ChatRole::user, "a"}}}, true),
            "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

}  // namespace
}  // namespace longhaul
