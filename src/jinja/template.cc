#include "jinja/template.h"

#include "base/cpu_limit.h"
#include "base/error.h"
#include "jinja/interpreter.h"
#include "jinja/lexer.h"
#include "jinja/parser.h"
#include "jinja/refusal.h"
#include "text/printable.h"

namespace longhaul::jinja {
namespace {

/// Shortens messages, because they quote values that may be long.
std::string shortened(std::string_view message) {
  constexpr size_t kMost = 300;
  return message.size() <= kMost ? one_line(message) : one_line(message.substr(0, kMost)) + "...";
}

std::string too_slow(const std::string& where, double seconds) {
  return one_line(fmt::format("{}: takes more than {:.0f} s of processor time", where, seconds));
}

}  // namespace

Template::Template(std::string_view source, std::string where) : where_(std::move(where)) {
  if (source.size() > kMostBytes) {
    user_error("{} has {} bytes; at most {} are read", where_, source.size(), kMostBytes);
  }
  const CpuLimit limit(Budget::most_seconds(0), too_slow(where_, Budget::most_seconds(0)));
  try {
    body_ = std::make_shared<const Body>(parse_template(source));
  } catch (const SyntaxError& error) {
    user_error("{}, line {}: {}", where_, error.line, shortened(error.message));
  }
}

String Template::render(const Variables& variables, size_t given) const {
  Budget budget(given);
  const double seconds = Budget::most_seconds(given);
  const CpuLimit limit(seconds, too_slow(where_, seconds));
  const HeldMemory memory(Budget::most_held(given));
  Interpreter interpreter(budget, variables);
  try {
    return interpreter.run(*body_);
  } catch (const Refusal& refusal) {
    user_error("{} refuses the conversation (line {}): {}", where_, interpreter.line(),
               shortened(refusal.what()));
  } catch (const Fault& error) {
    user_error("{}, line {}: {}", where_, interpreter.line(), shortened(error.what()));
  }
}

}  // namespace longhaul::jinja
