// Mistral's tekken.json: ranked bytes as in tiktoken's files, with the pattern that cuts words and
// the control tokens, whose ids come before those of the ranks.

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/printable.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/load_parts.h"

namespace longhaul {
namespace {

constexpr int64_t kMostTekkenTokens = 1 << 22;

/// Control tokens of files without a list of their own, by id (mistral_common's tekken.py).
constexpr const char* kTekkenControl[] = {"<unk>",
                                          "<s>",
                                          "</s>",
                                          "[INST]",
                                          "[/INST]",
                                          "[AVAILABLE_TOOLS]",
                                          "[/AVAILABLE_TOOLS]",
                                          "[TOOL_RESULTS]",
                                          "[/TOOL_RESULTS]",
                                          "[TOOL_CALLS]",
                                          "[IMG]",
                                          "<pad>",
                                          "[IMG_BREAK]",
                                          "[IMG_END]",
                                          "[PREFIX]",
                                          "[MIDDLE]",
                                          "[SUFFIX]",
                                          "[SYSTEM_PROMPT]",
                                          "[/SYSTEM_PROMPT]",
                                          "[TOOL_CONTENT]"};

int64_t count_of(const JsonField& config, const char* key) {
  const JsonField field = config[key];
  const int64_t value = field.integer();
  if (value >= 0 && value <= kMostTekkenTokens) return value;
  user_error("{} is {}, expected 0 to {}", field.where(), value, kMostTekkenTokens);
}

std::vector<AddedToken> control_tokens(const JsonField& document, int64_t reserved) {
  std::vector<std::string> texts;
  for (int64_t id = 0; id < reserved; ++id) texts.push_back("<SPECIAL_" + std::to_string(id) + ">");
  const JsonField list = document["special_tokens"];
  const auto name = [&](int64_t id, const std::string& text, const std::string& where) {
    if (id < 0 || id >= reserved) {
      user_error("{} is {}, but {} ids are reserved for control tokens", where, id, reserved);
    }
    texts[static_cast<size_t>(id)] = text;
  };
  if (list.is_null()) {
    const auto known = std::min<int64_t>(std::ssize(kTekkenControl), reserved);
    for (int64_t id = 0; id < known; ++id) name(id, kTekkenControl[id], list.where());
  } else {
    for (size_t i = 0; i < list.array_size(); ++i) {
      const JsonField rank = list.at(i)["rank"];
      name(rank.integer(), list.at(i)["token_str"].text(), rank.where());
    }
  }
  std::vector<AddedToken> added;
  for (size_t id = 0; id < texts.size(); ++id) {
    added.push_back({texts[id], static_cast<int32_t>(id), true, false, false});
  }
  return added;
}

}  // namespace

std::unique_ptr<TokenizerModel> load_tekken(const std::filesystem::path& path) {
  const std::string file = path.string();
  const nlohmann::json parsed = parse_json(read_text_file(path), file);
  if (!parsed.is_object()) user_error("{}: not a JSON object", file);
  const JsonField document(parsed, file), config = document["config"];
  const int64_t reserved = count_of(config, "default_num_special_tokens");
  const int64_t all = count_of(config, "default_vocab_size");
  std::vector<AddedToken> added = control_tokens(document, reserved);
  const JsonField ranked = document["vocab"];
  const auto listed = static_cast<int64_t>(ranked.array_size());
  if (all < reserved || all - reserved > listed) {
    user_error("{} is {}, but the file has {} control tokens and {} others",
               config["default_vocab_size"].where(), all, reserved, listed);
  }
  std::vector<Token> tokens;
  put_added_tokens(tokens, added, file);
  tokens.resize(static_cast<size_t>(reserved));
  for (int64_t i = 0; i < all - reserved; ++i) {
    const JsonField entry = ranked.at(static_cast<size_t>(i));
    if (entry["rank"].integer() != i) {
      user_error("{} is {}, expected {}", entry["rank"].where(), entry["rank"].integer(), i);
    }
    std::string bytes = from_base64(entry["token_bytes"].text());
    if (bytes.empty()) user_error("{}: not base64", entry["token_bytes"].where());
    tokens.push_back({std::move(bytes), TokenKind::normal});
  }
  auto model = model_by_rank(std::move(tokens), std::move(added), file);
  model->pre_tokenizer.add(
      {Regex(config["pattern"].text(), file + ": pattern"), SplitBehaviour::isolated, false});
  model->description = "byte-level BPE (tekken)";
  if (const AddedToken* bos = model->added.with_text("<s>")) {
    model->bos = bos->id;
    model->prefix = {bos->id};
  }
  if (const AddedToken* eos = model->added.with_text("</s>")) model->eos = eos->id;
  return model;
}

}  // namespace longhaul
