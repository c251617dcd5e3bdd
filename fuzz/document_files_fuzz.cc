// A document in the folder of --cache-dir, with a correct hash. It is read, and then written and
// read again without a change; or it is renamed to .bad and reported in one line.

#include <filesystem>
#include <string>
#include <vector>

#include "attempt.h"
#include "base/byte_stream.h"
#include "input_file.h"
#include "serve/documents/document_files.h"

namespace {

using namespace longhaul;
using namespace longhaul::serve;
namespace fs = std::filesystem;

constexpr const char* kId = "doc_0123456789abcdef0123456789abcdef";

fs::path empty_folder(const char* name) {
  const fs::path path = fuzzing::folder() / name;
  fs::remove_all(path);
  fs::create_directory(path);
  return path;
}

std::vector<StoredDocument> read_all(const fs::path& folder, int& damaged) {
  return DocumentFiles(folder, 1).read([&](const std::string& problem) {
    fuzzing::check(problem.find('\n') == std::string::npos);
    ++damaged;
  });
}

void check_map(const RetentionMap* map) {
  if (map == nullptr) return;
  const auto cells = static_cast<size_t>(map->layers) * static_cast<size_t>(map->heads) *
                     static_cast<size_t>(map->bins);
  fuzzing::check(map->kept.size() == cells);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fs::path folder = empty_folder("documents");
  {
    ByteWriter out(folder / (std::string(kId) + ".document"));
    out.bytes(data, size);
    out.finish();
  }
  int damaged = 0;
  const std::vector<StoredDocument> read = read_all(folder, damaged);
  fuzzing::check(read.size() + static_cast<size_t>(damaged) == 1);
  if (read.empty()) return 0;
  const StoredDocument& document = read.front();
  fuzzing::check(document.id == kId);
  check_map(document.map.get());
  const fs::path other = empty_folder("again");
  DocumentFiles(other, document.fingerprint).write(document);
  const std::vector<StoredDocument> again = read_all(other, damaged);
  fuzzing::check(damaged == 0 && again.size() == 1);
  fuzzing::check(again.front().text->document.text == document.text->document.text);
  fuzzing::check(again.front().key == document.key && again.front().tokens == document.tokens);
  fuzzing::check((again.front().map == nullptr) == (document.map == nullptr));
  return 0;
}
