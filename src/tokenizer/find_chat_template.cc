// Locates a model's own chat template.

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "format/checkpoint.h"
#include "text/json_file.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/named_chat_templates.h"

namespace longhaul {

namespace {

// name of the template for tools, if there are several
constexpr std::string_view kToolUse = "tool_use";

struct Sources {
  std::string main, with_tools, where;
};

/// Reads a text, or a list of {"name", "template"}.
void add_field(const JsonField& field, Sources& found) {
  if (!field.value().is_array()) {
    found.main = field.text_or("");
    return;
  }
  for (size_t i = 0; i < field.array_size(); ++i) {
    const JsonField entry = field.at(i);
    const std::string name = entry["name"].text();
    if (name == "default") found.main = entry["template"].text();
    if (name == kToolUse) found.with_tools = entry["template"].text();
  }
}

/// A separate file takes precedence over tokenizer_config.json, as in transformers.
Sources sources_in(const HfDocuments& files) {
  Sources found;
  const auto read = [&](const std::filesystem::path& file, std::string& text) {
    if (is_there(file)) text = read_text_file(file);
  };
  const std::filesystem::path config = files.folder / "tokenizer_config.json";
  const std::filesystem::path json = files.folder / "chat_template.json";
  if (!files.tokenizer_config.is_null()) {
    add_field(JsonField(files.tokenizer_config, config.string())["chat_template"], found);
  }
  if (is_there(json)) {
    const nlohmann::json document = read_json_file(json);
    add_field(JsonField(document, json.string())["chat_template"], found);
  }
  read(files.folder / "chat_template.jinja", found.main);
  read(files.folder / "additional_chat_templates" / "tool_use.jinja", found.with_tools);
  return found;
}

Sources sources_in(const GgufMetadata& metadata) {
  const auto text = [&](const std::string& key) {
    return std::string(metadata.find_string(key).value_or(""));
  };
  return {text("tokenizer.chat_template"),
          text(fmt::format("tokenizer.chat_template.{}", kToolUse)), ""};
}

ChatTokens tokens_of(const GgufMetadata& metadata) {
  const auto texts = metadata.find_strings("tokenizer.ggml.tokens");
  const auto text_of = [&](const char* key) {
    const std::optional<int64_t> id = metadata.find_i64(key);
    const bool known = texts && id && *id >= 0 && static_cast<size_t>(*id) < texts->size();
    return known ? std::string((*texts)[static_cast<size_t>(*id)]) : std::string();
  };
  return {text_of("tokenizer.ggml.bos_token_id"), text_of("tokenizer.ggml.eos_token_id"),
          text_of("tokenizer.ggml.unknown_token_id"), text_of("tokenizer.ggml.padding_token_id")};
}

ChatTokens tokens_of(const HfDocuments& files) {
  const std::string where = (files.folder / "tokenizer_config.json").string();
  const auto text_of = [&](const char* key) {
    return token_text(files.tokenizer_config, where, key);
  };
  return {text_of("bos_token"), text_of("eos_token"), text_of("unk_token"), text_of("pad_token")};
}

}  // namespace

ChatTemplate ChatTemplate::of(const Checkpoint& checkpoint) {
  const bool gguf = checkpoint.format() == CheckpointFormat::kGguf;
  const Sources found = gguf ? sources_in(checkpoint.gguf()) : sources_in(checkpoint.hf());
  if (found.main.empty()) {
    user_error(
        "{}: the model has no chat template; choose one with --chat-template NAME ({}) or FILE, or "
        "give plain text with --raw",
        checkpoint.path().string(), fmt::join(chat_template_names(), ", "));
  }
  const std::string where = checkpoint.path().string() + ": its chat template";
  ChatTemplate chat = from_text(
      found.main, gguf ? tokens_of(checkpoint.gguf()) : tokens_of(checkpoint.hf()), where);
  if (!found.with_tools.empty()) {
    chat.with_tools_ = jinja::Template(found.with_tools, where + " for tools");
  }
  return chat;
}

ChatTemplate ChatTemplate::named(std::string_view name, ChatTokens tokens) {
  const NamedChatTemplate* found = find_named_chat_template(name);
  if (found == nullptr) {
    user_error(
        "--chat-template {}: there is no such file, and no template of that name; known are {}",
        name, fmt::join(chat_template_names(), ", "));
  }
  if (tokens.bos.empty()) tokens.bos = found->bos;
  if (tokens.eos.empty()) tokens.eos = found->eos;
  return from_text(found->jinja, std::move(tokens), fmt::format("chat template {}", name));
}

ChatTemplate ChatTemplate::chosen(const std::string& name_or_file, ChatTokens tokens) {
  const bool file = find_named_chat_template(name_or_file) == nullptr && is_file(name_or_file);
  if (!file) return named(name_or_file, std::move(tokens));
  return from_text(read_text_file(name_or_file), std::move(tokens),
                   "--chat-template " + name_or_file);
}

std::vector<std::string_view> chat_template_names() {
  std::vector<std::string_view> names;
  for (const NamedChatTemplate& known : named_chat_templates()) names.emplace_back(known.name);
  return names;
}

}  // namespace longhaul
