#pragma once
// A Vocabulary lists the tokens of a model, with their bytes and kinds. The index of a token is its
// id.

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
  control,  ///< control token: never produced from plain text, and decoded to an empty text
  /// Found in a text before any other step (added_tokens.h), and decoded to its text.
  user_defined,
  unused,  ///< an id without a token
  byte,    ///< a single byte of a character that has no token
};

struct Token {
  std::string bytes;  ///< decoded bytes, or the name of a control token
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

  /// Returns the normal token with these bytes, or -1 if there is none. If there are several,
  /// returns the lowest id.
  int32_t find(std::string_view bytes) const;
  /// Returns the token for a single byte: the token of kind byte, otherwise the normal token with
  /// this byte, otherwise -1.
  int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

 private:
  std::vector<Token> tokens_;
  std::unordered_map<std::string_view, int32_t, SeededHash> index_;  // views into tokens_
  std::vector<int32_t> byte_tokens_ = std::vector<int32_t>(256, -1);
};

}  // namespace longhaul
