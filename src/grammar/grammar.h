#pragma once
// Defines Grammar, a form that replies must have, and GrammarState, which determines the tokens
// with which a reply may continue.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/token_trie.h"

namespace longhaul::grammar {

class Automaton;
class SharedTables;
struct TableSet;

enum class GrammarKind : uint8_t {
  kJsonSchema,  ///< a JSON Schema; `{}` allows every JSON value
  kGbnf,        ///< llama.cpp's form of BNF; the root is the rule `root`
  kRegex,       ///< a regular expression that must match the whole reply
  kText,        ///< exactly this text
};

/// The grammar of a part of a reply. A tool call, for example, consists of three parts: a fixed
/// text, JSON that matches a schema, and another fixed text.
struct GrammarPart {
  GrammarKind kind;
  std::string text;
};

/// A compiled grammar. Copies share the compiled form.
class Grammar {
 public:
  /// Compiles a grammar. Throws UserError if `text` is malformed, uses a keyword that is not
  /// supported, or is too large, if no reply can match, or if a rule calls itself before it matches
  /// a byte.
  static Grammar compile(std::string_view text, GrammarKind kind);
  /// Compiles a grammar for replies that consist of these parts in order.
  static Grammar compile(std::span<const GrammarPart> parts);
  /// Compiles a grammar for replies that match one of several alternatives, each of which consists
  /// of parts in order.
  static Grammar compile_choice(std::span<const std::vector<GrammarPart>> alternatives);

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  size_t memory_bytes() const;

 private:
  explicit Grammar(std::shared_ptr<const Automaton> automaton) : automaton_(std::move(automaton)) {}
  std::shared_ptr<const Automaton> automaton_;
};

/// The state of a grammar after the tokens of one reply so far. A copy can be continued
/// independently. All states of a grammar share tables, which are computed on demand and may grow
/// up to a limit. Several threads may use the same grammar if each has its own states. Functions
/// throw UserError if a text can be parsed in too many ways.
class GrammarState {
 public:
  GrammarState(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary);

  /// Sets the bits of `mask`, which has TokenTrie::mask_words() words, for the tokens that may come
  /// next (TokenMask).
  void allowed(std::span<uint64_t> mask);
  /// Appends a token. Returns false and changes nothing if it is not allowed.
  bool accept(int32_t token);
  /// Appends bytes, which need not be whole tokens.
  bool accept_bytes(std::string_view bytes);
  /// Returns whether the reply is complete.
  bool may_end() const;
  /// Returns whether the reply is complete and nothing can follow.
  bool must_end() const;
  /// Returns whether a token that ends the reply has been accepted.
  bool ended() const { return ended_; }

  size_t memory_bytes() const { return stack_.capacity() * sizeof(uint32_t); }
  size_t shared_memory_bytes() const;  ///< returns the size of the shared tables in bytes

 private:
  void use_current_tables();
  bool step(std::string_view bytes);

  std::shared_ptr<SharedTables> shared_;
  std::shared_ptr<TableSet> tables_;  // the tables in which `state_` is an index
  uint32_t state_ = 0;
  // The stack of the automaton: for each open call, the state with which the caller continues, the
  // innermost call last.
  std::vector<uint32_t> stack_;
  bool ended_ = false;
};

}  // namespace longhaul::grammar
