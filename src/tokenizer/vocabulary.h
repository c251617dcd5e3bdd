#pragma once
// The tokens: their bytes and kinds.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"

namespace longhaul {

enum class TokenKind : uint8_t {
  normal,
  unknown,
  control,       ///< special: never produced from plain text, decodes to no text
  user_defined,  ///< matched as a whole before any other step, decodes to its text
  unused,        ///< an id without a token
  byte,          ///< one byte, for characters that the vocabulary lacks
};

struct Token {
  std::string bytes;  ///< decoded bytes; a control token's name
  TokenKind kind = TokenKind::unused;
};

class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(std::vector<Token> tokens);
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  size_t size() const { return tokens_.size(); }
  bool contains(int32_t id) const { return id >= 0 && size_t(id) < tokens_.size(); }
  const Token& operator[](int32_t id) const { return tokens_[size_t(id)]; }

  /// The normal token with these bytes; -1 if there is none. Of two the lower id counts.
  int32_t find(std::string_view bytes) const;
  /// The token for one byte: of kind byte, otherwise the normal token of that byte; -1 if there is
  /// neither.
  int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

 private:
  std::vector<Token> tokens_;
  std::unordered_map<std::string_view, int32_t, SeededHash> index_;  // views into tokens_
  std::vector<int32_t> byte_tokens_ = std::vector<int32_t>(256, -1);
};

}  // namespace longhaul
