// An adapter: a GGUF file, or a PEFT folder, for which the first two bytes split the input into
// adapter_config.json and adapter_model.safetensors.

#include <algorithm>
#include <cstring>

#include "attempt.h"
#include "input_file.h"
#include "model/lora_file.h"
#include "touch_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  const auto path =
      fuzzing::write_gguf_or_folder(data, size, "adapter_config.json", "adapter_model.safetensors");
  if (path.empty()) return 0;
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
