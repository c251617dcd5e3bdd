#pragma once
// A Template is a Jinja template. It behaves as chat templates do in Hugging Face transformers.
// Transformers uses jinja2's ImmutableSandboxedEnvironment with the settings trim_blocks and
// lstrip_blocks and the extension for `break` and `continue`. It adds the `generation` block, the
// function raise_exception, and a filter `tojson` that does not escape HTML. The output records
// which of its bytes come from the arguments (jinja/string.h). Language:
// https://jinja.palletsprojects.com/templates/

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "jinja/ast.h"
#include "jinja/value.h"

namespace longhaul::jinja {

using Variables = std::map<std::string, Value, std::less<>>;

class Template {
 public:
  static constexpr size_t kMostBytes = size_t{1} << 20;

  /// Parses the template. `where` names it in error messages ("model.gguf: chat template"). Throws
  /// UserError with the line number if the template has a syntax error or uses `include`, `import`,
  /// `extends`, `block` or `autoescape`.
  Template(std::string_view source, std::string where);

  /// Renders the template. Throws UserError with the line number if an operation fails, if the
  /// template calls raise_exception, or if it exceeds a limit. `given` is the size of the arguments
  /// in bytes. The limits are: 10 million steps plus four per byte of `given`; calls nested 100
  /// deep; 1 MiB of output plus 16 times `given`; 64 MiB of values at the same time plus 16 times
  /// `given`; 10 s of processor time plus one second per MB of `given`.
  String render(const Variables& variables, size_t given) const;

 private:
  std::string where_;
  std::shared_ptr<const Body> body_;
};

}  // namespace longhaul::jinja
