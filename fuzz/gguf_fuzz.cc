// One GGUF file.

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "format/gguf_reader.h"
#include "touch_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  try {
    const GgufFile file = read_gguf({reinterpret_cast<const std::byte*>(data), size}, "input");
    volatile size_t seen = fuzzing::touch(file.list.tensors) + fuzzing::touch(file.metadata);
    (void)seen;
  } catch (const UserError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}
