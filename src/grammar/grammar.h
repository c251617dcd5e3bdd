#pragma once
// Constrained output: a grammar that a reply must match, and the tokens that may come next.

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
  kJsonSchema,  ///< a JSON Schema, as JSON; `{}` allows every value
  kGbnf,        ///< llama.cpp's form of BNF; the root is the rule `root`
  kRegex,       ///< a pattern that matches the whole reply
  kText,        ///< exactly this text
};

/// A part of a reply. A tool call, for example, consists of a text, a schema and another text.
struct GrammarPart {
  GrammarKind kind;
  std::string text;
};

/// A compiled grammar. Copies share it.
class Grammar {
 public:
  /// Compiles a grammar. Throws UserError if the text is malformed, uses a keyword that is not
  /// supported, accepts no text, recurses without end, or is too large.
  static Grammar compile(std::string_view text, GrammarKind kind);
  /// Compiles a sequence of parts.
  static Grammar compile(std::span<const GrammarPart> parts);
  /// Compiles a choice. Each alternative is a sequence of parts.
  static Grammar compile_choice(std::span<const std::vector<GrammarPart>> alternatives);

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  size_t memory_bytes() const;

 private:
  explicit Grammar(std::shared_ptr<const Automaton> automaton) : automaton_(std::move(automaton)) {}
  std::shared_ptr<const Automaton> automaton_;
};

/// The state of one reply. Copies are snapshots that are independent of each other. They share
/// tables, which grow with use up to a limit. Several threads may use the same grammar if each has
/// its own states. Functions throw UserError if a text can be parsed in too many ways.
class GrammarState {
 public:
  GrammarState(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary);

  /// Writes the tokens that may come next to `mask`, which has TokenTrie::mask_words() words.
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
  size_t shared_memory_bytes() const;  ///< returns the bytes of the grammar's tables

 private:
  void use_current_tables();
  bool step(std::string_view bytes);

  std::shared_ptr<SharedTables> shared_;
  std::shared_ptr<TableSet> tables_;  // the tables to which `state_` belongs
  uint32_t state_ = 0;
  // States of the automaton to which calls return, the innermost last.
  std::vector<uint32_t> stack_;
  bool ended_ = false;
};

}  // namespace longhaul::grammar
