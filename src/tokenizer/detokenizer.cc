#include "tokenizer/detokenizer.h"

#include "text/utf8.h"
#include "tokenizer/tokenizer_model.h"

namespace longhaul {

Detokenizer::Detokenizer(Tokenizer tokenizer, DetokenizerOptions options)
    : tokenizer_(std::move(tokenizer)), options_(options) {
  strip_space_ = options_.starts_text && tokenizer_.model().drops_first_space;
}

std::string Detokenizer::push(int32_t id) {
  if (options_.skip_special && tokenizer_.is_special(id)) return {};
  std::string_view bytes = tokenizer_.piece(id);
  if (id < 0 || static_cast<size_t>(id) >= tokenizer_.vocab_size()) bytes = kReplacementCharacter;
  if (strip_space_ && bytes.starts_with(' ')) bytes.remove_prefix(1);
  strip_space_ = false;
  held_ += bytes;
  return take_complete_utf8(held_);
}

std::string Detokenizer::flush() {
  const std::string out(held_.empty() ? std::string_view() : kReplacementCharacter);
  held_.clear();
  strip_space_ = options_.starts_text && tokenizer_.model().drops_first_space;
  return out;
}

}  // namespace longhaul
