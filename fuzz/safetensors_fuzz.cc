// One safetensors file.

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "format/safetensors_reader.h"
#include "touch_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  try {
    const auto list = read_safetensors({reinterpret_cast<const std::byte*>(data), size}, "input");
    volatile size_t seen = fuzzing::touch(list.tensors);
    (void)seen;
  } catch (const UserError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}
