// Answers of a hub: the description of a model, its list of files (after the first zero byte), and
// the choice of files.

#include <string>

#include "attempt.h"
#include "hub/choose_files.h"
#include "hub/model_reference.h"
#include "hub/repository.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(text.find('\0'), text.size());
  const std::string list = cut < text.size() ? text.substr(cut + 1) : "[]";
  fuzzing::attempt([&] {
    const HubRepository r = read_repository("some/model", text.substr(0, cut), {list});
    for (const HubFile& file : r.files) {
      fuzzing::check(!file.path.empty() && file.path.front() != '/' && file.bytes >= 0);
      fuzzing::check(("/" + file.path + "/").find("/../") == std::string::npos);
    }
    for (const char* choice : {"", "Q4_K_M", "model.gguf"}) {
      fuzzing::attempt([&] { fuzzing::check(!choose_files(r, choice).files.empty()); });
    }
  });
  next_page(text);
  fuzzing::attempt([&] { parse_reference(text); });
  return 0;
}
