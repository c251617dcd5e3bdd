// Arbitrary bytes as a prompt with nano's tokenizer. Repaired text survives encoding and decoding,
// control tokens never come from plain text, and segments are one text.

#include <cstdlib>

#include "input_file.h"
#include "text/utf8.h"
#include "tokenizer/load_tokenizer.h"

namespace {

const longhaul::Tokenizer& nano() {
  static const longhaul::Tokenizer tokenizer =
      longhaul::load_tokenizer_folder(longhaul::fuzzing::source("models/nano"));
  return tokenizer;
}

void check(bool holds) {
  if (!holds) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  if (size == 0) return 0;
  const size_t cut = size_t{data[0]} % size;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  size_t replaced = 0, counted = 0;
  std::string storage;
  const std::string repaired(repair_utf8(text, storage, &counted));
  const std::vector<int32_t> ids = nano().encode(text, {.add_special = false}, &replaced);
  check(replaced == counted);
  check(nano().decode(ids) == repaired);
  for (const int32_t id : ids) check(!nano().is_special(id));

  nano().encode(text, {.add_special = true, .parse_special = true});
  const std::vector<TextSegment> segments = {{std::string(text.substr(0, cut)), true},
                                             {std::string(text.substr(cut)), false}};
  nano().encode(segments, true);
  return 0;
}
