// Arbitrary bytes as a line of samples.jsonl. It is refused with one line, or the result survives
// being written and read again.

#include <cstdlib>

#include "base/error.h"
#include "eval/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  try {
    const Record record = record_from_json({reinterpret_cast<const char*>(data), size});
    const std::string line = to_json(record);
    if (line.find('\n') != std::string::npos) abort();
    if (to_json(record_from_json(line)) != line) abort();
  } catch (const UserError& error) {
    for (const char* c = error.what(); *c != 0; ++c) {
      if (*c == '\n') abort();
    }
  }
  return 0;
}
