// JSON schemas. The input's second text chooses the tokens of a reply.

#include "grammar_attempt.h"
#include "input_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto texts = longhaul::fuzzing::parts(data, size, 2);
  longhaul::fuzzing::try_grammar(texts[0], longhaul::grammar::GrammarKind::kJsonSchema,
                                 texts.size() > 1 ? texts[1] : "");
  return 0;
}
