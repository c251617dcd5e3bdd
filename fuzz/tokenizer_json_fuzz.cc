// Arbitrary bytes as tokenizer.json. It loads or is refused with one line. A loaded tokenizer can
// encode.

#include <cstdlib>

#include "base/error.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Tokenizer tokenizer(parse_tokenizer_json(text, "tokenizer.json"));
    // A fixed text matches few of the patterns. The file's own text contains the letters of each
    // pattern.
    for (const std::string_view input :
         {std::string_view("Hello <e> \u00fc\u4e2d 12"), text.substr(0, 4096)}) {
      const std::vector<int32_t> ids =
          tokenizer.encode(input, {.add_special = true, .parse_special = true});
      tokenizer.decode(ids, false);
      tokenizer.spans(ids);
    }
  } catch (const UserError& error) {
    for (const char* c = error.what(); *c != 0; ++c) {
      if (*c == '\n') abort();
    }
  }
  return 0;
}
