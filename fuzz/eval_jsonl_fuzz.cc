// Arbitrary bytes as a file of the user's own cases. It is read, or refused with one line.

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "eval/scorers.h"
#include "eval/tasks/jsonl.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  try {
    const auto samples = parse_jsonl({reinterpret_cast<const char*>(data), size});
    for (const Sample& sample : samples) {
      if (sample.id.empty() || sample.question.empty() || sample.answers.empty()) abort();
      const double score = score_reply(sample, "The reply is 42, a red\nkey.");
      if (!(score >= 0 && score <= 1)) abort();
    }
  } catch (const UserError& error) {
    for (const char* c = error.what(); *c != 0; ++c) {
      if (*c == '\n') abort();
    }
  }
  return 0;
}
