#include "tokenizer/vocabulary.h"

namespace longhaul {

Vocabulary::Vocabulary(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  index_.reserve(tokens_.size());
  for (size_t id = 0; id < tokens_.size(); ++id) {
    const Token& token = tokens_[id];
    if (token.kind == TokenKind::normal && !token.bytes.empty()) {
      index_.emplace(token.bytes, static_cast<int32_t>(id));
    } else if (token.kind == TokenKind::byte && token.bytes.size() == 1) {
      byte_tokens_[static_cast<uint8_t>(token.bytes[0])] = static_cast<int32_t>(id);
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    if (byte_tokens_[byte] < 0) byte_tokens_[byte] = find(std::string_view(&character, 1));
  }
}

int32_t Vocabulary::find(std::string_view bytes) const {
  const auto found = index_.find(bytes);
  return found == index_.end() ? -1 : found->second;
}

}  // namespace longhaul
