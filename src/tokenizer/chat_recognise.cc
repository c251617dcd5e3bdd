// Which known format a model's Jinja template is. Marks that only one format has decide; a
// template with marks of something else is refused rather than rendered nearly right.

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "format/checkpoint.h"
#include "tokenizer/chat_formats.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/template_text.h"

namespace longhaul {

namespace {

/// What a template says beside its format.
struct Recognised {
  const ChatFormat* format = nullptr;  ///< null: of no known one
  std::string default_system, date;
};

Recognised recognise_chatml(const TemplateText& jinja) {
  if (jinja.any("<|im_sep|>", "|trim", "| trim", "strip()")) return {};
  if (jinja.any("<think>")) {
    return {find_chat_format(jinja.any("enable_thinking") ? "qwen3" : ""), "", ""};
  }
  if (!jinja.breaks_line_after("<|im_end|>")) return {};
  if (!jinja.any("<|im_start|>assistant")) return {};  // replies begin otherwise
  if (jinja.writes_bare("system_message", "<|im_start|>system")) {
    return {find_chat_format(jinja.assigned_text("system") == "" ? "yi-1.5" : ""), "", ""};
  }
  auto own = jinja.literal_between("<|im_start|>system\n", "<|im_end|>");
  if (own == "") own = jinja.assigned_text("system");
  if (!own) return {};
  const std::string& system = *own;
  for (const ChatFormat& format : chat_formats()) {
    const bool same_kind = format.reply_end == "<|im_end|>" && !format.drops_thinking;
    if (same_kind && format.default_system == system) return {&format, system, ""};
  }
  return {find_chat_format("chatml"), system, ""};
}

Recognised recognise_llama3(const TemplateText& jinja) {
  if (!jinja.any("| trim", "|trim")) return {};
  if (!jinja.any("<|start_header_id|>assistant<|end_header_id|>")) return {};
  const auto system = jinja.assigned_text("system"), date = jinja.assigned_text("date_string");
  if (!system || !date) return {};
  if (jinja.any("Cutting Knowledge Date")) return {find_chat_format("llama3.1"), *system, *date};
  // The published one writes every message's role; a system turn of its own is another format.
  const bool as_published = system->empty() && !jinja.any("<|start_header_id|>system");
  return {find_chat_format(as_published ? "llama3" : ""), "", ""};
}

const ChatFormat* recognise_instruct(const TemplateText& jinja) {
  if (jinja.assigned_text("system") != "") return nullptr;  // these formats have none of their own
  if (jinja.any("<<SYS>>")) {
    const bool as_published =
        jinja.any("bos_token + '[INST] '") && jinja.any("strip()") && !jinja.any("true == true");
    return find_chat_format(as_published ? "llama2" : "");
  }
  const bool closes_tight = jinja.any("'[/INST]'", "\"[/INST]\"");
  if (jinja.any("[SYSTEM_PROMPT]")) {
    return find_chat_format(jinja.any("'[SYSTEM_PROMPT] '") && closes_tight ? "mistral-v7" : "");
  }
  const bool system_last = jinja.any("loop.last and system_message");
  if (jinja.any("'[INST]' +", "\"[INST]\" +")) {
    return find_chat_format(closes_tight && system_last ? "mistral-v3-tekken" : "");
  }
  if (closes_tight) return find_chat_format(system_last ? "mistral-v3" : "");
  if (jinja.any("' [INST] '", "\" [INST] \"")) return find_chat_format("mistral-v1");
  if (!jinja.any("' [/INST]'", "\" [/INST]\"") || jinja.any("system_message")) return nullptr;
  return find_chat_format(jinja.any("eos_token + ' '", "eos_token+ ' '", "eos_token }} ")
                              ? "mistral-v0.1"
                              : "mistral-v0.2");
}

Recognised recognise_format(const TemplateText& jinja) {
  if (jinja.any("<|im_start|>")) return recognise_chatml(jinja);
  if (jinja.any("<|start_header_id|>")) return recognise_llama3(jinja);
  if (jinja.any("[INST]")) return {recognise_instruct(jinja), "", ""};
  if (jinja.any("<|user|>\n", "<|user|>' + '\n'") && jinja.any("<|end|>")) {
    return {find_chat_format(jinja.any("<|system|>") ? "phi3" : "phi3-no-system"), "", ""};
  }
  const bool zephyr = jinja.any("'<|user|>\n' + message['content'] + eos_token") &&
                      jinja.any("'<|system|>\n' + message['content'] + eos_token") &&
                      jinja.breaks_line_after("<|assistant|>");
  return {find_chat_format(zephyr ? "zephyr" : ""), "", ""};
}

[[noreturn]] void no_template(std::string_view problem) {
  user_error("{}; choose a format with --chat-template NAME ({}) or give plain text with --raw",
             problem, fmt::join(chat_template_names(), ", "));
}

/// HF: a text, or a list of {"name", "template"} of which `default` counts.
std::string template_of_config(const nlohmann::json& config, const std::string& where) {
  if (config.is_null()) return {};
  const JsonField field = JsonField(config, where)["chat_template"];
  if (!field.value().is_array()) return field.text_or("");
  for (size_t i = 0; i < field.array_size(); ++i) {
    const JsonField entry = field.at(i);
    if (entry["name"].text() == "default") return entry["template"].text();
  }
  return {};
}

ChatTokens gguf_tokens(const GgufMetadata& metadata) {
  const auto texts = metadata.find_strings("tokenizer.ggml.tokens");
  const auto text_of = [&](const char* key) {
    const std::optional<int64_t> id = metadata.find_i64(key);
    const bool known = texts && id && *id >= 0 && static_cast<size_t>(*id) < texts->size();
    return known ? std::string((*texts)[static_cast<size_t>(*id)]) : std::string();
  };
  return {text_of("tokenizer.ggml.bos_token_id"), text_of("tokenizer.ggml.eos_token_id")};
}

}  // namespace

ChatTemplate ChatTemplate::named(std::string_view name, ChatTokens tokens) {
  const ChatFormat* format = find_chat_format(name);
  if (format == nullptr) {
    user_error("--chat-template {}: there is no such format; known are {}", name,
               fmt::join(chat_template_names(), ", "));
  }
  const bool writes_bos = !format->begin.empty() || format->name == "llama2";
  return {*format, std::string(format->default_system), writes_bos, std::move(tokens)};
}

ChatTemplate ChatTemplate::recognise(std::string_view jinja, ChatTokens tokens,
                                     const std::string& model) {
  const TemplateText text(jinja);
  Recognised found = recognise_format(text);
  if (found.format == nullptr) no_template(model + ": its chat template is of no known format");
  ChatTemplate chat{*found.format, std::move(found.default_system), text.any("bos_token"),
                    std::move(tokens)};
  if (!found.date.empty()) chat.date_ = std::move(found.date);
  return chat;
}

ChatTemplate ChatTemplate::of(const Checkpoint& checkpoint) {
  std::string jinja;
  ChatTokens tokens;
  if (checkpoint.format() == CheckpointFormat::kGguf) {
    jinja = checkpoint.gguf().find_string("tokenizer.chat_template").value_or("");
    tokens = gguf_tokens(checkpoint.gguf());
  } else {
    const HfDocuments& files = checkpoint.hf();
    const std::string where = (files.folder / "tokenizer_config.json").string();
    // The file of its own counts where both are there, as in transformers.
    const std::filesystem::path own_file = files.folder / "chat_template.jinja";
    jinja = is_there(own_file) ? read_text_file(own_file)
                               : template_of_config(files.tokenizer_config, where);
    tokens = {token_text(files.tokenizer_config, where, "bos_token"),
              token_text(files.tokenizer_config, where, "eos_token")};
  }
  if (jinja.empty()) {
    no_template(fmt::format("{}: the model has no chat template", checkpoint.path().string()));
  }
  return recognise(jinja, std::move(tokens), checkpoint.path().string());
}

}  // namespace longhaul
