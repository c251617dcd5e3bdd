#pragma once
// Which model, and what part of the machine works on it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/engine.h"
#include "engine/model_names.h"
#include "engine/model_source.h"
#include "engine/session.h"
#include "ops/matmul/linear.h"

namespace longhaul {

struct ModelFlags {
  std::string model = default_model();
  std::vector<std::string> loras;  ///< FILE[:SCALE]
  std::string profiles;            ///< a folder, or a name of known ones; empty: the model's own
  int threads = 0;                 ///< 0: every core this process may use
  std::string isa;                 ///< empty: the best the CPU has

  void add_to(CLI::App& app);
  /// Those that say which model, and how many threads.
  void add_model_to(CLI::App& app);
  /// Sets threads and fetches the model where it is not here yet. Throws UserError.
  ModelSource source() const;
  /// The same; sets kernels, calls `at_hand`, then opens it.
  std::shared_ptr<const Engine> open(const std::function<void()>& at_hand = [] {}) const;
};

/// "bf16", "int16", "int8", "f32" or "fp8": the type of a prompt's products with weights.
const char* products_of(const SessionOptions& session);
/// "amx, bf16 products, 2 threads": what ran.
std::string kernels_line(const SessionOptions& session);

/// "cpu", or the GPU's name: where a session runs.
std::string place_name(const SessionOptions& session);

}  // namespace longhaul
