// An adapter: a GGUF file, or a PEFT folder whose first two bytes cut the input into
// adapter_config.json and adapter_model.safetensors.

#include <algorithm>
#include <cstring>

#include "attempt.h"
#include "input_file.h"
#include "model/lora_file.h"
#include "touch_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  std::filesystem::path path = fuzzing::folder();
  if (size >= 4 && std::memcmp(data, "GGUF", 4) == 0) {
    path /= "input.gguf";
    fuzzing::write_file("input.gguf", data, size);
  } else {
    if (size < 2) return 0;
    const size_t rest = size - 2;
    const size_t cut = std::min<size_t>(static_cast<size_t>(data[0]) | (data[1] << 8), rest);
    fuzzing::write_file("adapter_config.json", data + 2, cut);
    fuzzing::write_file("adapter_model.safetensors", data + 2 + cut, rest - cut);
  }
  fuzzing::attempt([&] {
    const LoraFile lora = LoraFile::open(path);
    std::vector<TensorView> views;
    for (const auto& [matrix, factors] : lora.factors()) {
      fuzzing::check(factors.a.rows() == factors.b.cols());
      views.push_back(factors.a);
      views.push_back(factors.b);
    }
    volatile unsigned seen = fuzzing::touch(views);
    (void)seen;
  });
  return 0;
}
