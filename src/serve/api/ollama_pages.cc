// Facts about the model in the form of Ollama's API.

#include <fmt/chrono.h>

#include <chrono>
#include <filesystem>
#include <map>

#include "serve/api/api_error.h"
#include "serve/api/conversation.h"
#include "serve/api/field_reader.h"
#include "serve/api/ollama.h"

namespace longhaul::serve {
namespace {

using std::chrono::system_clock;

/// "135M" or "8.0B".
std::string parameter_size(int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  if (count >= 1e9) return fmt::format("{:.1f}B", count / 1e9);
  return fmt::format("{:.{}f}M", count / 1e6, count < 1e7 ? 1 : 0);
}

/// The type that most bytes of the weights have, as GGUF names it.
std::string quantization_level(const Checkpoint& checkpoint) {
  std::map<std::string, size_t> bytes;
  for (const TensorView& tensor : checkpoint.tensors()) {
    bytes[std::string(name_of(tensor.type))] += tensor.bytes();
  }
  std::string best;
  for (const auto& [name, count] : bytes) {
    if (best.empty() || count > bytes[best]) best = name;
  }
  for (char& c : best) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return best;
}

Json details_of(const ServedModel& model) {
  const Checkpoint& checkpoint = model.engine->checkpoint();
  const std::string& family = model.engine->model().config.architecture;
  return {{"parent_model", ""},
          {"format", checkpoint.format() == CheckpointFormat::kGguf ? "gguf" : "safetensors"},
          {"family", family},
          {"families", {family}},
          {"parameter_size", parameter_size(checkpoint.parameters())},
          {"quantization_level", quantization_level(checkpoint)}};
}

std::string modified_at(const ServedModel& model) {
  std::error_code error;
  const auto& files = model.engine->checkpoint().files();
  const auto time = files.empty() ? std::filesystem::file_time_type()
                                  : std::filesystem::last_write_time(files.front(), error);
  if (files.empty() || error) return rfc3339({});
  const auto since = time - std::filesystem::file_time_type::clock::now();
  return rfc3339(system_clock::now() + std::chrono::duration_cast<system_clock::duration>(since));
}

/// 64 digits, of which programs show the first twelve.
std::string digest_of(const ServedModel& model) {
  uint64_t word = model.engine->fingerprint();
  std::string digest;
  for (int i = 0; i < 4; ++i) {
    digest += fmt::format("{:016x}", word);
    word = (word ^ (word >> 29)) * 0xbf58476d1ce4e5b9 + 1;
  }
  return digest;
}

Json entry_of(const ServedModel& model, const std::string& name) {
  return {{"name", name + ":latest"},
          {"model", name + ":latest"},
          {"size", model.engine->weight_bytes()},
          {"digest", digest_of(model)},
          {"details", details_of(model)}};
}

Json model_info_of(const ServedModel& model) {
  const ModelConfig& config = model.engine->model().config;
  const std::string& family = config.architecture;
  Json info = {{"general.architecture", family},
               {"general.basename", model.name},
               {"general.parameter_count", model.engine->checkpoint().parameters()}};
  const auto add = [&](const char* name, const Json& value) { info[family + "." + name] = value; };
  add("context_length", model.told_context());
  add("block_count", config.layers);
  add("embedding_length", config.hidden);
  add("feed_forward_length", config.ffn);
  add("vocab_size", config.vocab);
  add("attention.head_count", config.heads);
  add("attention.head_count_kv", config.kv_heads.empty() ? 0 : config.kv_heads.front());
  add("attention.key_length", config.head_dim);
  return info;
}

/// Whether the template has a switch for reasoning, or always begins it.
bool reasons(const ServedModel& model) {
  const ReplyFormat& format = model.reply_format;
  if (format.family == CallFamily::kChannels || format.begins_in_reasoning) return true;
  const auto text = [&](bool thinking) {
    Conversation conversation;
    conversation.messages = Json::array({{{"role", "user"}, {"content", "Hello"}}});
    conversation.thinking = thinking;
    return conversation_prompt(model, std::move(conversation), false).text;
  };
  return text(true) != text(false);
}

Json capabilities_of(const ServedModel& model) {
  Json list = Json::array({"completion"});
  if (!model.chat) return list;
  list.push_back("tools");
  if (reasons(model)) list.push_back("thinking");
  return list;
}

}  // namespace

std::string rfc3339(system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(system_clock::to_time_t(time)));
}

std::string rfc3339_now() {
  const auto now = system_clock::now();
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  std::string text = rfc3339(now);
  text.pop_back();
  return text + fmt::format(".{:06d}Z", micros % 1'000'000);
}

Json ollama_tags_page(const ServedModel& model, const http::HttpRequest&) {
  Json list = Json::array();
  for (const std::string& name : names_of(model)) {
    list.push_back(entry_of(model, name));
    list.back()["modified_at"] = modified_at(model);
  }
  return {{"models", std::move(list)}};
}

Json ollama_ps_page(const ServedModel& model, const http::HttpRequest&) {
  Json entry = entry_of(model, model.name);
  entry["expires_at"] = "2318-11-27T00:00:00Z";  // the model never leaves
  entry["size_vram"] = model.session.queue.on_host() ? 0 : model.engine->weight_bytes();
  entry["context_length"] = model.told_context();
  return {{"models", Json::array({std::move(entry)})}};
}

Json ollama_show_page(const ServedModel& model, const http::HttpRequest& request) {
  constexpr std::string_view kKnown[] = {"model",  "name",     "verbose",
                                         "system", "template", "options"};
  const Json body = read_body(request.body, kKnown);
  const FieldReader fields(body);
  const auto name = fields.has("model") ? fields.text("model") : fields.text("name");
  if (!name || name->empty()) refuse_field("model", "is missing");
  choice_of_request(model, *name, "");
  return {{"modelfile",
           "# Longhaul serves this model; it has no Modelfile.\nFROM " + model.name + "\n"},
          {"parameters", fmt::format("temperature {}", model.sampler.temperature)},
          {"template", ""},
          {"details", details_of(model)},
          {"model_info", model_info_of(model)},
          {"capabilities", capabilities_of(model)},
          {"modified_at", modified_at(model)}};
}

}  // namespace longhaul::serve
