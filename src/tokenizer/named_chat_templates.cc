#include "tokenizer/named_chat_templates.h"

#include <algorithm>
#include <vector>

namespace longhaul {

namespace {

/// `system` is written if the conversation has no system message; if empty, nothing is written.
NamedChatTemplate chatml(const char* name, const std::string& system) {
  const std::string usual = system.empty()
                                ? ""
                                : "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\\n" +
                                      system + "<|im_end|>\\n' }}{% endif %}";
  return {name, usual + R"({% for message in messages %}
{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})",
          "", "<|im_end|>"};
}

/// The system message precedes the turns without marks.
NamedChatTemplate yi() {
  return {"yi-1.5", R"({% for message in messages %}
{% if message.role == 'system' %}
{{- message.content }}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endif %}
{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})",
          "", "<|im_end|>"};
}

/// Thinking is removed from replies, except one at the end.
NamedChatTemplate qwen3(const char* name, const std::string& reply_begins) {
  return {name,
          R"({% for message in messages %}
{%- set content = message.content %}
{%- if message.role == 'assistant' %}
{%- set thought = content.split('</think>')[0].split('<think>')[-1].strip('\n') if '</think>' in content else '' %}
{%- set content = content.split('</think>')[-1].lstrip('\n') if '</think>' in content else content %}
{%- if loop.last %}
{%- set content = '<think>\n' + thought + '\n</think>\n\n' + content.lstrip('\n') %}
{%- endif %}
{%- endif %}
{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n)" +
              reply_begins + "' }}{% endif %}",
          "", "<|im_end|>"};
}

/// `begin` may remove the system message and put its own text before the turns.
NamedChatTemplate llama3(const char* name, const std::string& begin) {
  return {name, "{{ bos_token }}" + begin + R"({% for message in messages %}
{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})",
          "<|begin_of_text|>", "<|eot_id|>"};
}

/// The system turn is always present, with two dates.
NamedChatTemplate llama31() {
  return llama3("llama3.1", R"(
{%- set date = strftime_now('%d %b %Y') if strftime_now is defined else '26 Jul 2024' %}
{{- '<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: ' + date + '\n\n' }}
{%- if messages and messages[0].role == 'system' %}
{{- messages[0].content | trim }}
{%- set messages = messages[1:] %}
{%- endif %}
{{- '<|eot_id|>' -}}
)");
}

/// Turns in [INST] ... [/INST]. `user` and `reply` write a message; they find the text of the
/// system message in `system`, which is empty if there is none.
NamedChatTemplate instruct(const char* name, const std::string& begin, const std::string& user,
                           const std::string& reply) {
  return {name, R"({%- set system = '' %}
{%- if messages and messages[0].role == 'system' %}
{%- set system = messages[0].content %}
{%- set messages = messages[1:] %}
{%- endif %}
)" + begin + R"({%- for message in messages %}
{%- set content = message.content %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('messages of the user and the assistant must take turns, the user first') }}
{%- endif %}
{%- if message.role == 'user' %}
)" + user + R"({%- else %}
)" + reply + R"({%- endif %}
{%- endfor %})",
          "<s>", "</s>"};
}

NamedChatTemplate llama2() {
  return instruct("llama2", "", R"(
{%- if system and loop.first %}
{%- set content = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + content %}
{%- endif %}
{{- bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
)",
                  "{{- ' ' + content.strip() + ' ' + eos_token }}\n");
}

/// `where` selects the user message before which the system message stands: "first", "last" or
/// none.
NamedChatTemplate mistral(const char* name, const std::string& before, const std::string& after,
                          const std::string& where, const std::string& reply) {
  const std::string with_system =
      where.empty() ? ""
                    : "{%- if system and loop." + where +
                          " %}{% set content = system + '\\n\\n' + content %}{% endif %}\n";
  return instruct(name, "{{- bos_token }}\n",
                  with_system + "{{- '" + before + "' + content + '" + after + "' }}\n",
                  "{{- " + reply + " }}\n");
}

NamedChatTemplate mistral_v7() {
  return {"mistral-v7", R"({{- bos_token }}
{%- for message in messages %}
{%- if message.role == 'system' %}
{{- '[SYSTEM_PROMPT] ' + message.content + '[/SYSTEM_PROMPT]' }}
{%- elif message.role == 'user' %}
{{- '[INST] ' + message.content + '[/INST]' }}
{%- else %}
{{- ' ' + message.content + eos_token }}
{%- endif %}
{%- endfor %})",
          "<s>", "</s>"};
}

/// Turns that begin with `<|user|>` etc. and end with the expression `end`.
NamedChatTemplate marked(const char* name, const std::string& end, bool system,
                         const std::string& finish, const char* eos) {
  const std::string chosen = system ? "" : " if message.role != 'system'";
  return {name,
          "{% for message in messages" + chosen + R"( %}
{{- '<|' + message.role + '|>\n' + message.content + )" +
              end + R"( + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ )" +
              finish + R"( }}{% endif %})",
          "<s>", eos};
}

std::vector<NamedChatTemplate> make() {
  const char* const smol = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
  const char* const qwen = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
  return {
      chatml("chatml", ""),
      chatml("smollm2", smol),
      chatml("qwen2", "You are a helpful assistant."),
      chatml("qwen2.5", qwen),
      yi(),
      qwen3("qwen3", ""),
      qwen3("qwen3-no-think", "<think>\\n\\n</think>\\n\\n"),
      llama2(),
      llama3("llama3", ""),
      llama31(),
      mistral("mistral-v0.1", "[INST] ", " [/INST]", "", "content + eos_token + ' '"),
      mistral("mistral-v0.2", "[INST] ", " [/INST]", "", "content + eos_token"),
      mistral("mistral-v1", " [INST] ", " [/INST]", "first", "' ' + content + eos_token"),
      mistral("mistral-v3", "[INST] ", "[/INST]", "last", "' ' + content.strip() + eos_token"),
      mistral("mistral-v3-tekken", "[INST]", "[/INST]", "last", "content + eos_token"),
      mistral_v7(),
      marked("phi3", "'<|end|>'", true, "eos_token", "<|endoftext|>"),
      marked("phi3-no-system", "'<|end|>'", false, "''", "<|endoftext|>"),
      marked("zephyr", "eos_token", true, "''", "</s>"),
  };
}

}  // namespace

std::span<const NamedChatTemplate> named_chat_templates() {
  static const std::vector<NamedChatTemplate> list = make();
  return list;
}

const NamedChatTemplate* find_named_chat_template(std::string_view name) {
  const auto list = named_chat_templates();
  const auto found = std::find_if(
      list.begin(), list.end(), [&](const NamedChatTemplate& known) { return known.name == name; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace longhaul
