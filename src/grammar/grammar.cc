#include "grammar/grammar.h"

#include "base/error.h"
#include "grammar/automaton.h"
#include "grammar/gbnf.h"
#include "grammar/json_rules.h"
#include "grammar/schema.h"
#include "text/printable.h"

namespace longhaul::grammar {
namespace {

constexpr size_t kMostGrammarBytes = 1 << 20;

Expression read_part(std::string_view text, GrammarKind kind, Syntax& syntax) {
  switch (kind) {
    case GrammarKind::kJsonSchema:
      return read_json_schema(text, syntax);
    case GrammarKind::kGbnf:
      return syntax.call(read_gbnf(text, syntax));
    case GrammarKind::kRegex:
      return regex_expression(without_anchors(parse_regex(text), RegexSpan::kWhole, {}), syntax,
                              [&](const CharSet& set) { return syntax.chars(set); });
    case GrammarKind::kText:
      return syntax.text(text);
  }
  return syntax.nothing();
}

std::string_view name_of(GrammarKind kind) {
  switch (kind) {
    case GrammarKind::kJsonSchema:
      return "JSON schema";
    case GrammarKind::kGbnf:
      return "grammar";
    case GrammarKind::kRegex:
      return "regex";
    case GrammarKind::kText:
      return "text";
  }
  return "";
}

/// Calls `read` and puts the kind before its error.
template <class Read>
auto named(GrammarKind kind, Read read) {
  try {
    return read();
  } catch (const UserError& error) {
    user_error("{}: {}", name_of(kind), error.what());
  }
}

}  // namespace

Grammar Grammar::compile(std::string_view text, GrammarKind kind) {
  const std::vector<GrammarPart> part = {{kind, std::string(text)}};
  return compile(part);
}

Grammar Grammar::compile(std::span<const GrammarPart> parts) {
  const std::vector<std::vector<GrammarPart>> one = {{parts.begin(), parts.end()}};
  return compile_choice(one);
}

Grammar Grammar::compile_choice(std::span<const std::vector<GrammarPart>> alternatives) {
  Syntax syntax;
  std::vector<Expression> choices;
  GrammarKind kind = GrammarKind::kText;
  for (const auto& parts : alternatives) {
    std::vector<Expression> sequence;
    for (const GrammarPart& part : parts) {
      if (part.kind != GrammarKind::kText) kind = part.kind;
      sequence.push_back(named(part.kind, [&] {
        if (part.text.size() > kMostGrammarBytes) {
          user_error("it is larger than {} bytes", kMostGrammarBytes);
        }
        return read_part(part.text, part.kind, syntax);
      }));
    }
    choices.push_back(syntax.sequence(sequence));
  }
  return named(kind, [&] {
    const RuleNumber root = syntax.rule_of("the whole", syntax.choice(choices));
    return Grammar(std::make_shared<const Automaton>(compile_rules(syntax, root)));
  });
}

size_t Grammar::memory_bytes() const { return automaton_->memory_bytes(); }

}  // namespace longhaul::grammar
