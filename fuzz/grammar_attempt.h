#pragma once
// Requirements of grammars: a mask holds exactly the tokens that a state accepts, and a reply can
// always go on or end.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attempt.h"
#include "grammar/grammar.h"

namespace longhaul::fuzzing {

inline std::shared_ptr<const grammar::TokenTrie> fuzz_vocabulary() {
  static const auto vocabulary = [] {
    std::vector<std::string> texts(256);
    for (size_t i = 0; i < 256; ++i) texts[i] = std::string(1, static_cast<char>(i));
    for (const char* text : {"ab", "\"a", "\": ", "\",", "{\"", "}}", "]]", "[[", "true", "\\\"",
                             "\xC3\xA9", "é\"", "10", ", \"", "\n  "}) {
      texts.push_back(text);
    }
    texts.push_back("");
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const int32_t end = static_cast<int32_t>(texts.size()) - 1;
    return std::make_shared<const grammar::TokenTrie>(views, std::vector<int32_t>{end});
  }();
  return vocabulary;
}

/// Writes a reply whose choices are the bytes of `choices`.
inline void try_grammar(std::string_view text, grammar::GrammarKind kind,
                        std::string_view choices) {
  attempt([&] {
    const auto vocabulary = fuzz_vocabulary();
    grammar::GrammarState state(grammar::Grammar::compile(text, kind), vocabulary);
    grammar::TokenMask mask(vocabulary->mask_words());
    for (const char choice : choices.substr(0, 64)) {
      state.allowed(mask);
      std::vector<int32_t> allowed;
      for (size_t id = 0; id < vocabulary->tokens(); ++id) {
        const bool in_mask = (mask[id / 64] >> (id % 64) & 1) != 0;
        if (in_mask) allowed.push_back(static_cast<int32_t>(id));
        if (id % 17 == static_cast<unsigned char>(choice) % 17) {
          grammar::GrammarState copy = state;
          check(copy.accept(static_cast<int32_t>(id)) == in_mask);
        }
      }
      check(!allowed.empty());
      check(state.accept(allowed[static_cast<unsigned char>(choice) % allowed.size()]));
      if (state.ended()) return;
    }
  });
}

}  // namespace longhaul::fuzzing
