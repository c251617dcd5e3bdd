// A split set of two GGUF files. The input's first two bytes are the position of the second file.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "format/checkpoint.h"
#include "input_file.h"
#include "touch_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  if (size < 2) return 0;
  const size_t rest = size - 2;
  const size_t cut = std::min<size_t>(static_cast<size_t>(data[0]) | (data[1] << 8), rest);
  fuzzing::write_file("m-00001-of-00002.gguf", data + 2, cut);
  fuzzing::write_file("m-00002-of-00002.gguf", data + 2 + cut, rest - cut);
  for (const char* name : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}) {
    try {
      const Checkpoint opened = open_checkpoint(fuzzing::folder() / name);
      volatile size_t seen = fuzzing::touch(opened.tensors()) + fuzzing::touch(opened.gguf());
      (void)seen;
    } catch (const UserError& error) {
      if (std::strchr(error.what(), '\n') != nullptr) std::abort();
    }
  }
  return 0;
}
