#include "tokenizer/tokenizer_model.h"

#include <algorithm>

namespace longhaul {

namespace {

constexpr std::string_view kTurnEnds[] = {
    "</s>",          "<|im_end|>",      "<|eot_id|>", "<|eom_id|>",
    "<|end|>",       "<|end_of_text|>", "<EOT>",      "<end_of_turn>",
    "<|endoftext|>", "_<EOT>",          "<|return|>", "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
};

constexpr std::string_view kTurnBegins[] = {
    "<|im_start|>",      "<|start_header_id|>",
    "<|end_header_id|>", "<|begin_of_text|>",
    "<|system|>",        "<|user|>",
    "<|assistant|>",     "[INST]",
    "[/INST]",           "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",  "<start_of_turn>",
};

}  // namespace

bool is_known_turn_end(std::string_view text) {
  return std::find(std::begin(kTurnEnds), std::end(kTurnEnds), text) != std::end(kTurnEnds);
}

bool is_known_turn_mark(std::string_view text) {
  return is_known_turn_end(text) ||
         std::find(std::begin(kTurnBegins), std::end(kTurnBegins), text) != std::end(kTurnBegins);
}

void set_end_of_generation(TokenizerModel& model, std::vector<int64_t> ids) {
  if (model.eos) ids.push_back(*model.eos);
  for (const std::string_view text : kTurnEnds) {
    if (const AddedToken* token = model.added.with_text(text)) ids.push_back(token->id);
  }
  const auto size = static_cast<int64_t>(model.vocabulary.size());
  std::erase_if(ids, [size](int64_t id) { return id < 0 || id >= size; });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  model.end_of_generation.clear();
  for (const int64_t id : ids) model.end_of_generation.push_back(static_cast<int32_t>(id));
}

bool blanks_only_begin_tokens(const Vocabulary& vocabulary) {
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const Token& token = vocabulary[static_cast<int32_t>(id)];
    if (token.kind != TokenKind::normal) continue;
    const size_t word = token.bytes.find_first_not_of(' ');
    if (word != std::string::npos && token.bytes.find(' ', word) != std::string::npos) return false;
  }
  return true;
}

}  // namespace longhaul
