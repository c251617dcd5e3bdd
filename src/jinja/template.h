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

  /// `where` names the template in messages ("model.gguf: chat template"). UserError with the line
  /// for syntax errors, and for `include`, `import`, `extends`, `block` and `autoescape`.
  Template(std::string_view source, std::string where);

  /// UserError with the line when it cannot be run with these variables, when it refuses them
  /// (raise_exception) or needs more than is allowed: 10 million steps and four for every byte of
  /// `given`, calls nested 100 deep, 16 times `given` and 1 MiB of output, 16 times `given` and
  /// 64 MiB of values that are held at a time, 10 s of processor time and one for every MB of
  /// `given`.
  String render(const Variables& variables, size_t given) const;

 private:
  std::string where_;
  std::shared_ptr<const Body> body_;
};

}  // namespace longhaul::jinja
