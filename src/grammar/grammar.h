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
  kJsonSchema,  ///< a schema of JSON Schema, as JSON; `{}` allows every value
  kGbnf,        ///< llama.cpp's form of BNF, with a rule `root`
  kRegex,       ///< a pattern that matches the whole reply
  kText,        ///< exactly this text
};

/// A part of a reply. A tool call, for example, is a text, a schema, and a text.
struct GrammarPart {
  GrammarKind kind;
  std::string text;
};

/// Copies share the compiled grammar.
class Grammar {
 public:
  /// Throws UserError if the text is malformed, uses a keyword that is not supported, accepts no
  /// text, recurses without an end or is too large.
  static Grammar compile(std::string_view text, GrammarKind kind);
  /// All parts, one after the other.
  static Grammar compile(std::span<const GrammarPart> parts);
  /// One of the alternatives, each of which is a list of parts.
  static Grammar compile_choice(std::span<const std::vector<GrammarPart>> alternatives);

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  size_t memory_bytes() const;

 private:
  explicit Grammar(std::shared_ptr<const Automaton> automaton) : automaton_(std::move(automaton)) {}
  std::shared_ptr<const Automaton> automaton_;
};

/// The state of one reply. A copy is a snapshot: states are independent of each other, but copies
/// share tables, which grow with use and are bounded. Calls are safe from several threads if each
/// thread has its own states. A text that can be read in too many ways is a UserError.
class GrammarState {
 public:
  GrammarState(const Grammar& grammar, std::shared_ptr<const TokenTrie> vocabulary);

  /// Writes the tokens that may come next; the mask has TokenTrie::mask_words() words.
  void allowed(std::span<uint64_t> mask);
  /// Appends a token. False, without a change, if it is not allowed.
  bool accept(int32_t token);
  /// Appends bytes, which need not be whole tokens.
  bool accept_bytes(std::string_view bytes);
  /// Whether the reply is complete.
  bool may_end() const;
  /// Whether the reply is complete and nothing can follow.
  bool must_end() const;
  /// Whether a token that ends the reply was accepted.
  bool ended() const { return ended_; }

  size_t memory_bytes() const { return stack_.capacity() * sizeof(uint32_t); }
  size_t shared_memory_bytes() const;  ///< bytes of the grammar's tables

 private:
  void use_current_tables();
  bool step(std::string_view bytes);

  std::shared_ptr<SharedTables> shared_;
  std::shared_ptr<TableSet> tables_;  // the tables that `state_` belongs to
  uint32_t state_ = 0;
  std::vector<uint32_t> stack_;  // states of the automaton to return to, the innermost last
  bool ended_ = false;
};

}  // namespace longhaul::grammar
