// Arbitrary ids with nano's tokenizer. Streamed text is valid UTF-8 piece by piece and equals the
// text that is decoded at once.

#include <cstdlib>
#include <cstring>

#include "input_file.h"
#include "text/utf8.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/load_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  static const Tokenizer tokenizer =
      load_tokenizer_folder(longhaul::fuzzing::source("models/nano"));
  const bool skip_special = size % 2 == 0;
  Detokenizer detokenizer(tokenizer, {skip_special, false});
  std::vector<int32_t> ids;
  std::string joined;
  for (size_t at = 0; at + 2 <= size; at += 2) {
    int16_t id = 0;
    std::memcpy(&id, data + at, sizeof(id));
    ids.push_back(id % 4200);
    const std::string part = detokenizer.push(ids.back());
    std::string storage;
    size_t replaced = 0;
    repair_utf8(part, storage, &replaced);
    if (replaced != 0) abort();
    joined += part;
  }
  joined += detokenizer.flush();
  if (joined != tokenizer.decode(ids, skip_special)) abort();
  return 0;
}
