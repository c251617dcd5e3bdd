#include "tokenizer/load_tokenizer.h"

#include <nlohmann/json.hpp>

#include "base/cpu_limit.h"
#include "base/error.h"
#include "base/paths.h"
#include "format/checkpoint.h"
#include "format/hf_text_part.h"
#include "text/printable.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/load_parts.h"

namespace longhaul {

namespace {

namespace fs = std::filesystem;

/// The JSON files beside the vocabulary; null if absent.
struct FolderConfig {
  nlohmann::json config, generation, tokenizer, special_map;
  std::string folder;
  bool text_part = false;  ///< the text model is part of a larger one

  JsonField of(const nlohmann::json& document, const char* name) const {
    return {document, folder + "/" + name};
  }
};

nlohmann::json read_json_if_there(const fs::path& path) {
  if (!is_there(path)) return nullptr;
  nlohmann::json document = parse_json(read_text_file(path), path.string());
  if (!document.is_object()) user_error("{}: not a JSON object", path.string());
  return document;
}

std::optional<int32_t> id_of_text(const TokenizerModel& model, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (const AddedToken* token = model.added.with_text(text)) return token->id;
  const int32_t id = model.vocabulary.find(text);
  if (id < 0) return std::nullopt;
  return id;
}

/// `bos_token` or `eos_token` of tokenizer_config.json or special_tokens_map.json.
std::optional<int32_t> special_id(const TokenizerModel& model, const FolderConfig& files,
                                  const std::string& key) {
  std::string text = token_text(files.tokenizer, files.folder + "/tokenizer_config.json", key);
  if (text.empty()) {
    text = token_text(files.special_map, files.folder + "/special_tokens_map.json", key);
  }
  return id_of_text(model, text);
}

/// A token id or a list of them under `key`; empty if absent.
std::vector<int64_t> id_list(const JsonField& document, std::string_view key) {
  if (document.is_null()) return {};
  const JsonField field = document[key];
  if (field.is_null()) return {};
  if (!field.value().is_array()) return {field.integer()};
  std::vector<int64_t> out;
  for (size_t i = 0; i < field.array_size(); ++i) out.push_back(field.at(i).integer());
  return out;
}

std::optional<int32_t> first_in_vocabulary(const TokenizerModel& model,
                                           const std::vector<int64_t>& ids) {
  if (ids.empty() || ids[0] < 0 || static_cast<size_t>(ids[0]) >= model.vocabulary.size()) {
    return std::nullopt;
  }
  return static_cast<int32_t>(ids[0]);
}

/// The rows of the model's embedding, where config.json says how many, or else the tokens.
int64_t known_ids(const TokenizerModel& model, const JsonField& config) {
  const auto tokens = static_cast<int64_t>(model.vocabulary.size());
  if (config.is_null() || config["vocab_size"].is_null()) return tokens;
  return std::max(tokens, config["vocab_size"].integer());
}

/// The ids that end a reply. Ids that no token has are refused, as in GGUF files. They are only
/// left out with a warning if `document` describes a model that is larger than its text model,
/// because transformers writes its own defaults there.
std::vector<int64_t> end_ids(const TokenizerModel& model, const JsonField& document,
                             const JsonField& config, bool of_larger_model) {
  std::vector<int64_t> ids;
  const int64_t known = known_ids(model, config);
  for (const int64_t id : id_list(document, "eos_token_id")) {
    if (id >= 0 && id < known) {
      ids.push_back(id);
      continue;
    }
    const std::string problem = fmt::format("{} is {}, outside the vocabulary of {} tokens",
                                            document["eos_token_id"].where(), id, known);
    if (!of_larger_model) user_error("{}", problem);
    warn("{}: no reply ends with it", problem);
  }
  return ids;
}

/// add_bos_token and add_eos_token, if given, override the post-processor.
void apply_add_flags(TokenizerModel& model, const FolderConfig& files) {
  if (files.tokenizer.is_null()) return;
  const JsonField config = files.of(files.tokenizer, "tokenizer_config.json");
  const JsonField add_bos = config["add_bos_token"];
  const JsonField add_eos = config["add_eos_token"];
  if (!add_bos.is_null() && model.bos) {
    model.prefix = add_bos.flag(false) ? std::vector{*model.bos} : std::vector<int32_t>{};
  }
  if (!add_eos.is_null() && model.eos) {
    model.suffix = add_eos.flag(false) ? std::vector{*model.eos} : std::vector<int32_t>{};
  }
}

void apply_config(TokenizerModel& model, const FolderConfig& files) {
  const JsonField config = files.of(files.config, "config.json");
  const JsonField generation = files.of(files.generation, "generation_config.json");
  model.bos = special_id(model, files, "bos_token");
  if (!model.bos) model.bos = first_in_vocabulary(model, id_list(config, "bos_token_id"));
  std::vector<int64_t> ends = end_ids(model, generation, config, false);
  const std::vector<int64_t> more = end_ids(model, config, config, files.text_part);
  ends.insert(ends.end(), more.begin(), more.end());
  model.eos = special_id(model, files, "eos_token");
  if (!model.eos) model.eos = first_in_vocabulary(model, ends);
  apply_add_flags(model, files);
  set_end_of_generation(model, std::move(ends));
}

/// tokenizer_config.json's added_tokens_decoder: id (as a text) -> token.
std::vector<AddedToken> added_tokens_decoder(const FolderConfig& files) {
  std::vector<AddedToken> out;
  if (files.tokenizer.is_null()) return out;
  const JsonField table =
      files.of(files.tokenizer, "tokenizer_config.json")["added_tokens_decoder"];
  if (table.is_null()) return out;
  if (!table.value().is_object()) table.wrong("an object of ids and tokens");
  for (const auto& [id, token] : table.value().items()) {
    if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != std::string::npos) {
      user_error("{}: {} is not a token id", table.where(), printable(id));
    }
    out.push_back(read_added_token(JsonField(token, table.where() + "." + id)));
    out.back().id = std::stoi(id);
  }
  make_marks_special(out);
  return out;
}

const NamedPreTokenizer& pre_tokenizer_of_class(const FolderConfig& files) {
  const std::string where = files.folder + "/tokenizer_config.json";
  const std::string name = files.tokenizer.is_null()
                               ? ""
                               : JsonField(files.tokenizer, where)["tokenizer_class"].text_or("");
  if (name == "Qwen2Tokenizer" || name == "Qwen2TokenizerFast") {
    return named_pre_tokenizer("qwen2", where);
  }
  if (name == "GPT2Tokenizer" || name == "GPT2TokenizerFast") {
    return named_pre_tokenizer("gpt-2", where);
  }
  user_error(
      "{}: tokenizer_class is {}; without tokenizer.json only Qwen2Tokenizer and "
      "GPT2Tokenizer can be read",
      where, printable(name));
}

std::unique_ptr<TokenizerModel> load_vocabulary(const fs::path& folder, const FolderConfig& files) {
  if (const fs::path json = folder / "tokenizer.json"; is_there(json)) {
    return parse_tokenizer_json(read_text_file(json), json.string());
  }
  if (is_there(folder / "vocab.json") && is_there(folder / "merges.txt")) {
    return load_vocab_and_merges(folder, pre_tokenizer_of_class(files),
                                 added_tokens_decoder(files));
  }
  if (is_there(folder / "tekken.json")) return load_tekken(folder / "tekken.json");
  const fs::path file = folder / "tokenizer.model";
  if (!is_there(file)) {
    user_error(
        "{}: no tokenizer.json, no vocab.json with merges.txt, no tekken.json and no "
        "tokenizer.model",
        folder.string());
  }
  if (const std::string text = read_text_file(file); is_sentencepiece_file(text)) {
    return load_sentencepiece(text, file.string(), added_tokens_decoder(files));
  }
  auto model = load_tiktoken(folder / "tokenizer.model", added_tokens_decoder(files));
  if (const AddedToken* bos = model->added.with_text("<|begin_of_text|>")) {
    model->bos = bos->id;
    model->prefix = {bos->id};
  }
  return model;
}

/// Before anything is made of them. Files of a vocabulary alone have no embedding.
void refuse_more_tokens_than_rows(const Checkpoint& checkpoint) {
  const GgufEntry* tokens = checkpoint.gguf().find("tokenizer.ggml.tokens");
  const TensorView* embedding = checkpoint.find("token_embd.weight");
  if (tokens == nullptr || tokens->type != GgufType::kArray || embedding == nullptr) return;
  const uint64_t count = tokens->array.count;
  if (count <= static_cast<uint64_t>(embedding->rows())) return;
  user_error("{}: tokenizer.ggml.tokens has {} entries, the embedding {} rows",
             checkpoint.path().string(), count, embedding->rows());
}

CpuLimit loading_limit(const std::string& where) {
  constexpr double kSeconds = 120;  // the slowest known ones take two
  return CpuLimit(kSeconds, one_line(fmt::format(
                                "{}: reading this tokenizer takes more than {:.0f} s of processor "
                                "time; ordinary ones take two",
                                where, kSeconds)));
}

}  // namespace

Tokenizer load_tokenizer_folder(const fs::path& folder) {
  const CpuLimit limit = loading_limit(folder.string());
  FolderConfig files;
  files.folder = folder.string();
  files.config = read_json_if_there(folder / "config.json");
  if (!files.config.is_null()) files.text_part = take_text_config(files.config);
  files.generation = read_json_if_there(folder / "generation_config.json");
  files.tokenizer = read_json_if_there(folder / "tokenizer_config.json");
  files.special_map = read_json_if_there(folder / "special_tokens_map.json");
  std::unique_ptr<TokenizerModel> model = load_vocabulary(folder, files);
  const std::optional<int32_t> own_bos = model->bos, own_eos = model->eos;
  apply_config(*model, files);
  if (!model->bos) model->bos = own_bos;
  if (!model->eos && own_eos) {
    model->eos = own_eos;
    set_end_of_generation(*model,
                          {model->end_of_generation.begin(), model->end_of_generation.end()});
  }
  return Tokenizer(std::move(model));
}

Tokenizer load_tokenizer(const Checkpoint& checkpoint) {
  if (checkpoint.format() == CheckpointFormat::kGguf) {
    refuse_more_tokens_than_rows(checkpoint);
    const CpuLimit limit = loading_limit(checkpoint.path().string());
    return Tokenizer(load_gguf_tokenizer(checkpoint.gguf()));
  }
  return load_tokenizer_folder(checkpoint.hf().folder);
}

}  // namespace longhaul
