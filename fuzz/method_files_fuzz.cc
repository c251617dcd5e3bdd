// Files that methods read: a profile in the model's folder for the method that the first byte
// selects, and the same text as trained gates, head patterns and calibrated thresholds.

#include <cmath>
#include <cstring>
#include <set>

#include "attempt.h"
#include "attention/method_spec.h"
#include "attention/methods/duo/gated_heads.h"
#include "attention/methods/minference/pattern_file.h"
#include "attention/methods/xattention/head_thresholds.h"
#include "input_file.h"

namespace {

using namespace longhaul;
using fuzzing::attempt;
using fuzzing::check;

ModelShape shape() {
  ModelShape shape;
  shape.layers = 2;
  shape.heads = 4;
  shape.kv_heads = {2, 1};
  shape.head_dim = 8;
  shape.scale = 1;
  shape.trained_context = 64;
  shape.window = {0, 16};
  shape.rope.inverse_frequency = {1, 0.5, 0.25, 0.125};
  shape.profile_prefix = fuzzing::folder().string() + "/";
  return shape;
}

void read_tables(const std::filesystem::path& file, const ModelShape& model) {
  attempt([&] {
    const HeadGates gates = read_gates(file, model.kv_heads);
    for (const double sparsity : {0.0, 0.3, 0.5, 1.0}) full_by_sparsity(gates, sparsity);
    full_by_threshold(gates, 0.5);
  });
  attempt([&] {
    const HeadPatterns patterns = read_patterns(file, model.layers, model.heads);
    const std::filesystem::path copy = fuzzing::folder() / "copy";
    write_patterns(copy, patterns);
    const HeadPatterns again = read_patterns(copy, model.layers, model.heads);
    for (size_t l = 0; l < patterns.size(); ++l) {
      for (size_t h = 0; h < patterns[l].size(); ++h) {
        check(patterns[l][h].in_range() && patterns[l][h].slash == again[l][h].slash);
      }
    }
  });
  for (const int stride : {4, 8, 16}) {
    attempt([&] {
      for (const auto& layer : read_thresholds(file, stride, model.layers, model.heads)) {
        for (const double threshold : layer) check(threshold >= 0 && threshold <= 1);
      }
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const ModelShape model = shape();
  const auto methods = attention_methods();
  const MethodInfo& info = methods[data[0] % methods.size()];
  const std::string name = std::string(info.name) + ".json";
  fuzzing::write_file(name, data + 1, size - 1);
  attempt([&] {
    const MethodSpec spec = MethodSpec::parse(info.name).for_model(model);
    const auto method = spec.make(model);
    check(MethodSpec::parse(spec.text()).for_model(model).text() == spec.text());
    method->layout(model, DType::BF16);
    method->prepare({0, 100, 5, 16});
    method->most_kv_bytes(method->layout(model, DType::BF16), 100, 16);
  });
  read_tables(fuzzing::folder() / name, model);
  std::filesystem::remove(fuzzing::folder() / name);
  for (const auto& entry : std::filesystem::directory_iterator(fuzzing::folder())) {
    check(entry.path().filename() == "copy");  // profiles write no files
  }
  return 0;
}
