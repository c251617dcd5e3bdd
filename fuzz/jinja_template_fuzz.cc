// Templates. The input's first text is a template. The others are passed to it as `a`, `b`, ... and
// as messages. They contain characters that no template has, so finding these in the template's own
// text is a bug.

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "input_parts.h"
#include "jinja/clock.h"
#include "jinja/template.h"

namespace {

using namespace longhaul;
using jinja::Origin;
using jinja::Value;

void check(bool holds) {
  if (!holds) std::abort();
}

constexpr std::string_view kMark = "\xEE\x80\x80";  // U+E000: a character of private use

/// Replaces every letter by the mark. Other characters, which steer templates, are kept.
Value given(std::string_view text) {
  std::string marked;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    marked += letter ? std::string(kMark) : std::string(1, c);
  }
  return Value::text(marked, Origin::kGiven);
}

/// Whether a template could write the mark itself: literally, by an escape, or from parts of its
/// bytes.
bool may_write_mark(std::string_view source) {
  return source.find('\\') != std::string_view::npos ||
         source.find('\xEE') != std::string_view::npos;
}

jinja::Variables variables(const std::vector<std::string_view>& texts) {
  jinja::Variables found;
  jinja::Values messages;
  for (size_t i = 1; i < texts.size(); ++i) {
    const Value text = given(texts[i]);
    if (i <= 5) found[std::string(1, static_cast<char>('a' + i - 1))] = text;
    messages.push_back(
        Value::dict({{Value::text("role"), Value::text(i % 2 == 0 ? "assistant" : "user")},
                     {Value::text("content"), text},
                     {text, Value::list({text, Value(int64_t{1}), Value::none()})}}));
  }
  found["messages"] = found["tools"] = Value::list(std::move(messages));
  found["add_generation_prompt"] = Value(true);
  found["bos_token"] = Value::text("<s>");
  found["strftime_now"] = jinja::strftime_now(jinja::day(2024, 7, 26), texts.size() % 2 == 0);
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto texts = fuzzing::parts(data, size, 3);
  try {
    const jinja::String out = jinja::Template(texts[0], "template").render(variables(texts), size);
    size_t begin = 0;
    for (const jinja::String::Run& run : out.runs()) {
      check(run.end > begin && run.end <= out.size());
      const std::string_view part = out.bytes().substr(begin, run.end - begin);
      if (run.origin == Origin::kTemplate && !may_write_mark(texts[0])) {
        check(part.find(kMark) == std::string_view::npos);
      }
      begin = run.end;
    }
    check(begin == out.size());
  } catch (const UserError& error) {
    check(std::strchr(error.what(), '\n') == nullptr);
  }
  return 0;
}
