// The form of calls and of reasoning, found by the chat templates of models.

#include "serve/output/reply_format.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tokenizer/chat_template.h"

namespace longhaul::serve {
namespace {

std::string described(const std::filesystem::path& file) {
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const ReplyFormat format =
      find_reply_format(ChatTemplate::from_text(text, {"<s>", "</s>"}, file.filename().string()));
  return std::string(name_of(format.family)) + " " + format.reasoning_open +
         (format.begins_in_reasoning ? " open" : "");
}

TEST(ReplyFormat, IsFoundByTheTemplate) {
  const std::filesystem::path folder = LONGHAUL_TEST_DATA "/tokenizer/chat";
  const std::map<std::string, std::string> expected = {{"qwen2.5", "hermes <think>"},
                                                       {"qwen3", "hermes <think>"},
                                                       {"qwq", "hermes <think> open"},
                                                       {"llama3.1", "llama <think>"},
                                                       {"llama3.2", "llama <think>"},
                                                       {"llama3.3", "llama <think>"},
                                                       {"mistral-nemo", "mistral <think>"},
                                                       {"mistral-large-2407", "mistral <think>"},
                                                       {"gpt-oss", "channels "},
                                                       {"mistral-small-3.2", "mistral <think>"},
                                                       {"smollm2", "none <think>"},
                                                       {"deepseek-r1-distill", "none <think> open"},
                                                       {"gemma-like", "none <think>"},
                                                       {"phi3-mini", "none <think>"},
                                                       {"functionary-v3.1", "none <think>"},
                                                       {"chatml-default", "none <think>"}};
  for (const auto& [name, format] : expected) {
    EXPECT_EQ(described(folder / (name + ".jinja")), format) << name;
  }
}

TEST(ReplyFormat, KnowsTagsForEachParameter) {
  // In the way of Qwen3-Coder's template.
  const char* jinja = R"({%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{%- for c in m.tool_calls or [] %}
<tool_call>
<function={{ c.function.name }}>
{%- for k, v in c.function.arguments|items %}
<parameter={{ k }}>
{{ v }}
</parameter>
{%- endfor %}
</function>
</tool_call>{%- endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %})";
  const ReplyFormat format = find_reply_format(ChatTemplate::from_text(jinja, {}, "m.gguf"));
  EXPECT_EQ(format.family, CallFamily::kQwenCoder);
  EXPECT_FALSE(format.needs_control_texts());
}

}  // namespace
}  // namespace longhaul::serve
