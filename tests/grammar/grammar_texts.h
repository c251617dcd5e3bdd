#pragma once
// Help for tests of grammars.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/grammar.h"

namespace longhaul::grammar {

/// One token for each byte, and token 256, which ends a reply.
inline std::shared_ptr<const TokenTrie> byte_tokens() {
  static const std::shared_ptr<const TokenTrie> trie = [] {
    std::vector<std::string> bytes(257);
    for (size_t i = 0; i < 256; ++i) bytes[i] = std::string(1, static_cast<char>(i));
    const std::vector<std::string_view> views(bytes.begin(), bytes.end());
    return std::make_shared<const TokenTrie>(views, std::vector<int32_t>{256});
  }();
  return trie;
}

inline bool accepts(const Grammar& grammar, std::string_view text) {
  GrammarState state(grammar, byte_tokens());
  return state.accept_bytes(text) && state.may_end();
}

inline bool schema_accepts(std::string_view schema, std::string_view text) {
  return accepts(Grammar::compile(schema, GrammarKind::kJsonSchema), text);
}
inline bool gbnf_accepts(std::string_view gbnf, std::string_view text) {
  return accepts(Grammar::compile(gbnf, GrammarKind::kGbnf), text);
}
inline bool regex_accepts(std::string_view regex, std::string_view text) {
  return accepts(Grammar::compile(regex, GrammarKind::kRegex), text);
}

/// The message of the error; empty if there is none.
inline std::string refusal(std::string_view text, GrammarKind kind) {
  try {
    Grammar::compile(text, kind);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace longhaul::grammar
