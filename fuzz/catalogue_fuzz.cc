// The list of recommended models: read, or refused in one line that names the file.

#include <string>
#include <string_view>

#include "attempt.h"
#include "cli/catalogue.h"
#include "hub/model_reference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzzing::attempt([&] {
    for (const CatalogueEntry& entry : parse_catalogue(text, "catalogue.json")) {
      fuzzing::check(!entry.name.empty() && entry.name.find('/') == std::string::npos);
      fuzzing::check(entry.bytes > 0 && entry.context > 0);
      // Entries must be references that can be pulled from the hub.
      fuzzing::check(parse_reference("hf:" + entry.repository + ":" + entry.file).has_value());
    }
  });
  return 0;
}
