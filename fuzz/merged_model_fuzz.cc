// A model and an adapter, merged into one. The input is four texts; the first six bytes are the
// lengths of the first three. They are a model (a GGUF file, or config.json and model.safetensors)
// and an adapter (a GGUF file, or adapter_config.json and adapter_model.safetensors). The output
// has the announced number of bytes and is a model again.

#include <array>
#include <cstring>
#include <fstream>
#include <functional>

#include "attempt.h"
#include "format/checkpoint.h"
#include "input_file.h"
#include "model/merged_folder.h"
#include "model/merged_model.h"

namespace {

using namespace longhaul;
namespace fs = std::filesystem;

using Text = std::span<const uint8_t>;

std::array<Text, 4> four_texts(Text input) {
  std::array<Text, 4> texts;
  Text rest = input.subspan(6);
  for (size_t i = 0; i < 3; ++i) {
    const size_t length = static_cast<size_t>(input[2 * i]) | (input[2 * i + 1] << 8);
    texts[i] = rest.first(std::min(length, rest.size()));
    rest = rest.subspan(texts[i].size());
  }
  texts[3] = rest;
  return texts;
}

bool is_gguf(Text text) { return text.size() >= 4 && std::memcmp(text.data(), "GGUF", 4) == 0; }

/// Writes the first text as a GGUF file, or the first two as a folder. Removes them from `texts`.
fs::path write(const std::string& name, const char* config, const char* weights,
               std::span<const Text>& texts) {
  const auto put = [](const std::string& file, Text text) {
    fuzzing::write_file(file, text.data(), text.size());
  };
  if (is_gguf(texts[0])) {
    put(name + ".gguf", texts[0]);
    texts = texts.subspan(1);
    return fuzzing::folder() / (name + ".gguf");
  }
  fs::create_directory(fuzzing::folder() / name);
  put(name + "/" + config, texts[0]);
  put(name + "/" + weights, texts[1]);
  texts = texts.subspan(2);
  return fuzzing::folder() / name;
}

/// Writes all bytes that `source` provides to a file. Returns their number.
size_t write_to(const fs::path& path, const std::function<void(const ByteSink&)>& source) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  size_t count = 0;
  source([&](std::span<const std::byte> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    count += bytes.size();
  });
  return count;
}

fs::path merge_file(const Checkpoint& model, std::span<const WeightedLora> adapters) {
  const MergedModel merged(model, adapters, {});
  const fs::path out = fuzzing::folder() / "merged.gguf";
  fuzzing::check(write_to(out, [&](const ByteSink& to) { merged.write(to); }) == merged.bytes());
  return out;
}

fs::path merge_folder(const Checkpoint& model, std::span<const WeightedLora> adapters) {
  const MergedFolder merged(model, adapters);
  const fs::path out = fuzzing::folder() / "merged";
  fs::remove_all(out);
  fs::create_directory(out);
  size_t count = 0;
  for (const std::string& file : merged.files()) {
    count += write_to(out / file, [&](const ByteSink& to) { merged.write(file, to); });
  }
  fuzzing::check(count == merged.bytes());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 6) return 0;
  const std::array<Text, 4> four = four_texts({data, size});
  std::span<const Text> texts = four;
  const fs::path model = write("model", "config.json", "model.safetensors", texts);
  const fs::path adapter =
      write("adapter", "adapter_config.json", "adapter_model.safetensors", texts);
  fuzzing::attempt([&] {
    const Checkpoint checkpoint = open_checkpoint(model);
    std::vector<WeightedLora> adapters;
    adapters.push_back({LoraFile::open(adapter), 1});
    const bool folder = checkpoint.format() == CheckpointFormat::kHuggingFace;
    const fs::path merged =
        folder ? merge_folder(checkpoint, adapters) : merge_file(checkpoint, adapters);
    try {
      load_model(open_checkpoint(merged));
    } catch (const UserError&) {
      fuzzing::check(false);  // merging keeps a valid model valid
    }
  });
  return 0;
}
