// A pattern, a text made to match it, and a replacement. Matches advance, pieces are consecutive
// and complete, and no step makes a text grow without bound. Parts of the input: pattern, text,
// text that Replace looks for, replacement.

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/cpu_limit.h"
#include "base/error.h"
#include "input_parts.h"
#include "text/utf8.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"

namespace {

using namespace longhaul;

void check(bool holds) {
  if (!holds) abort();
}

std::string valid(std::string_view text) {
  std::string storage;
  return std::string(repair_utf8(text, storage, nullptr));
}

/// The text, the letters of the pattern, and both again. The text then contains what the pattern
/// names in several places.
std::string text_for(const std::string& pattern, const std::string& text) {
  return text + pattern + text + std::string(pattern.rbegin(), pattern.rend()) + text;
}

void split(const std::string& pattern, std::string_view text, SplitBehaviour behaviour,
           bool invert) {
  PreTokenizer pre;
  pre.add({Regex(pattern, "pattern"), behaviour, invert});
  const char* done = text.data();
  size_t bytes = 0;
  for (const std::string_view piece : pre.split(text)) {
    check(!piece.empty() && piece.data() >= done);
    done = piece.data() + piece.size();
    bytes += piece.size();
  }
  check(done <= text.data() + text.size());
  check(behaviour == SplitBehaviour::removed || bytes == text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parts = fuzzing::parts(data, size, 4);
  const std::string pattern(parts[0].substr(0, 256));
  const std::string text = valid(text_for(pattern, std::string(parts[1].substr(0, 1024))));
  for (const SplitBehaviour behaviour :
       {SplitBehaviour::isolated, SplitBehaviour::removed, SplitBehaviour::merged_with_previous,
        SplitBehaviour::merged_with_next, SplitBehaviour::contiguous}) {
    for (const bool invert : {false, true}) {
      try {
        const CpuLimit limit(2, "too slow");
        split(pattern, text, behaviour, invert);
      } catch (const UserError&) {
      }
    }
  }
  Normalizer normalizer;
  for (int i = 0; i < 4; ++i) {
    normalizer.add({NormalizeStep::Kind::nfkd, "", ""});
    normalizer.add({NormalizeStep::Kind::replace, valid(parts[2]), valid(parts[3])});
    normalizer.add({NormalizeStep::Kind::prepend, "", valid(parts[3])});
  }
  try {
    const std::string plain = valid(parts[1]);
    if (plain.empty()) return 0;
    check(normalizer.apply(plain, true, "steps").size() <= 64 * plain.size() + (1 << 20));
  } catch (const UserError&) {
  }
  return 0;
}
