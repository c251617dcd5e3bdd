// GBNF and patterns. The input's second text chooses the tokens of a reply.

#include "grammar_attempt.h"
#include "input_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using longhaul::grammar::GrammarKind;
  const auto texts = longhaul::fuzzing::parts(data, size, 2);
  const std::string_view choices = texts.size() > 1 ? texts[1] : "";
  longhaul::fuzzing::try_grammar(texts[0], GrammarKind::kGbnf, choices);
  longhaul::fuzzing::try_grammar(texts[0], GrammarKind::kRegex, choices);
  return 0;
}
