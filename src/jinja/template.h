#pragma once
// A Jinja template with the semantics of Hugging Face transformers' chat templates: jinja2's
// immutable sandbox with trim_blocks, lstrip_blocks, loop controls, the `generation` block,
// raise_exception, and a tojson without HTML escapes. Output strings record which parts came from
// the arguments. Language: https://jinja.palletsprojects.com/templates/

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

  /// `where` names the template in messages ("model.gguf: chat template"). Throws UserError with
  /// the line for syntax errors, and for `include`, `import`, `extends`, `block` and `autoescape`.
  Template(std::string_view source, std::string where);

  /// Renders the template. Throws UserError with the line if the template fails with these
  /// variables, rejects them (raise_exception), or exceeds a limit. `given` is the size of the
  /// arguments in bytes. The limits are: 10 million steps plus four per byte of `given`; calls
  /// nested 100 deep; 1 MiB of output plus 16 times `given`; 64 MiB of values at the same time plus
  /// 16 times `given`; 10 s of processor time plus one second per MB of `given`.
  String render(const Variables& variables, size_t given) const;

 private:
  std::string where_;
  std::shared_ptr<const Body> body_;
};

}  // namespace longhaul::jinja
