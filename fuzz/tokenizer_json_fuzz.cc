// Any bytes as tokenizer.json: it loads or is refused with one line; what loads can encode.

#include <cstdlib>

#include "base/error.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Tokenizer tokenizer(parse_tokenizer_json(text, "tokenizer.json"));
    // A text that is the same for all files meets hardly any of their patterns: the file's own has
    // the letters of each.
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
