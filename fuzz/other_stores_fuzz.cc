// Files by which models of other programs are found: refs/main of the hub's cache, and a manifest
// of ollama (behind the first zero byte).

#include <cstdlib>
#include <string>

#include "attempt.h"
#include "engine/other_stores.h"
#include "input_file.h"

namespace {

namespace fs = std::filesystem;
using longhaul::fuzzing::check;

/// Two stores with one model each, and all that these may name.
void make_stores(const fs::path& stores) {
  const fs::path hub = stores / "hub/models--a--b", ollama = stores / "ollama";
  fs::create_directories(hub / "refs");
  fs::create_directories(hub / "snapshots/c0");
  fs::create_directories(ollama / "manifests/host/owner/name");
  fs::create_directories(ollama / "blobs");
  std::ofstream(hub / "snapshots/c0/m.gguf") << "GGUF";
  std::ofstream(ollama / "blobs/sha256-ab") << "GGUF";
  std::ofstream(stores / "outside.gguf") << "GGUF";
  setenv("HF_HUB_CACHE", (stores / "hub").c_str(), 1);
  setenv("OLLAMA_MODELS", ollama.c_str(), 1);
  setenv("LLAMA_CACHE", (stores / "none").c_str(), 1);
  setenv("HOME", (stores / "none").c_str(), 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fs::path stores = longhaul::fuzzing::folder();
  static const bool made = (make_stores(stores), true);
  check(made);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(text.find('\0'), text.size());
  const std::string manifest = cut < text.size() ? text.substr(cut + 1) : "";
  longhaul::fuzzing::write_file("hub/models--a--b/refs/main", data, cut);
  longhaul::fuzzing::write_file("ollama/manifests/host/owner/name/tag",
                                reinterpret_cast<const uint8_t*>(manifest.data()), manifest.size());
  longhaul::fuzzing::attempt([&] {
    for (const longhaul::NamedModel& model : longhaul::models_elsewhere()) {
      const std::string path = model.path.string();
      check(path.find("/snapshots/") != std::string::npos ||
            path.find("/blobs/") != std::string::npos);
      check(path.find("..") == std::string::npos);
    }
  });
  return 0;
}
