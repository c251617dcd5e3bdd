// One GGUF file whose metadata is read as a tokenizer.

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "format/gguf_reader.h"
#include "tokenizer/load_parts.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  try {
    const GgufFile file = read_gguf({reinterpret_cast<const std::byte*>(data), size}, "input");
    const Tokenizer tokenizer(load_gguf_tokenizer(file.metadata));
    tokenizer.decode(tokenizer.encode("ab a <e>", {.parse_special = true}), false);
  } catch (const UserError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}
