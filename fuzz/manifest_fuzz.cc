// The manifest of a folder of cached prompts. Whatever a file holds, the files that remain have
// names without folders, and their lines give the same files again.

#include <string>

#include "attempt.h"
#include "serve/cache/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul::serve;
  int unreadable = 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto files = read_manifest_lines(text, unreadable);
  std::string lines;
  for (const auto& [name, file] : files) {
    longhaul::fuzzing::check(name == file.name && name.find('/') == std::string::npos);
    longhaul::fuzzing::check(!file.legs.empty() && file.legs.back().end == file.count);
    lines += added_line(file);
  }
  const auto again = read_manifest_lines(lines, unreadable);
  longhaul::fuzzing::check(unreadable == 0 && again.size() == files.size());
  return 0;
}
