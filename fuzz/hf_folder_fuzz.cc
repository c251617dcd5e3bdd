// A Hugging Face folder. The input's first two bytes split it into config.json and the index.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "format/checkpoint.h"
#include "input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  if (size < 2) return 0;
  const size_t rest = size - 2;
  const size_t cut = std::min<size_t>(static_cast<size_t>(data[0]) | (data[1] << 8), rest);
  fuzzing::write_file("config.json", data + 2, cut);
  fuzzing::write_file("model.safetensors.index.json", data + 2 + cut, rest - cut);
  fuzzing::write_file("s", reinterpret_cast<const uint8_t*>("\2\0\0\0\0\0\0\0{}"), 10);
  try {
    volatile size_t seen = open_checkpoint(fuzzing::folder()).tensors().size();
    (void)seen;
  } catch (const UserError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}
