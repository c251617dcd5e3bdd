#include "tokenizer/tokenizer_model.h"

#include <algorithm>

namespace longhaul {

namespace {

/// Ascending, without repeats and without ids that the vocabulary does not have.
std::vector<int32_t> sorted_ids(std::vector<int64_t> ids, size_t vocabulary) {
  const auto size = static_cast<int64_t>(vocabulary);
  std::erase_if(ids, [size](int64_t id) { return id < 0 || id >= size; });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<int32_t> sorted;
  for (const int64_t id : ids) sorted.push_back(static_cast<int32_t>(id));
  return sorted;
}

}  // namespace

TurnMarks turn_marks(const TokenizerModel& model) {
  return TurnMarks([&](std::string_view text) { return model.added.with_text(text) != nullptr; });
}

void set_end_of_generation(TokenizerModel& model, std::vector<int64_t> ids) {
  if (model.eos) ids.push_back(*model.eos);
  const TurnMarks marks = turn_marks(model);
  std::vector<int64_t> messages;
  for (const AddedToken& token : model.added.tokens()) {
    if (marks.ends_reply(token.text)) ids.push_back(token.id);
    if (marks.ends_message(token.text)) messages.push_back(token.id);
    if (marks.never_ends_reply(token.text)) std::erase(ids, int64_t{token.id});
  }
  messages.insert(messages.end(), ids.begin(), ids.end());
  model.end_of_generation = sorted_ids(std::move(ids), model.vocabulary.size());
  model.end_of_message = sorted_ids(std::move(messages), model.vocabulary.size());
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
