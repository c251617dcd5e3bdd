#pragma once
// Flags for the model and the parts of the machine that run it.

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
  std::string profiles;            ///< a folder, or a known name; empty: the model's own
  int threads = 0;                 ///< 0: every core that this process may use
  std::string isa;                 ///< empty: the best level of the CPU

  void add_to(CLI::App& app);
  /// Adds only the flags for the model and the number of threads.
  void add_model_to(CLI::App& app);
  /// Sets threads and downloads the model if necessary. Throws UserError.
  ModelSource source() const;
  /// Like source(); then sets kernels, calls `at_hand` and opens the model.
  std::shared_ptr<const Engine> open(const std::function<void()>& at_hand = [] {}) const;
};

/// "bf16", "int16", "int8", "f32" or "fp8": the type of a prompt's products with weights.
const char* products_of(const SessionOptions& session);
/// Returns the kernels in use, such as "amx, bf16 products, 2 threads".
std::string kernels_line(const SessionOptions& session);

/// Returns where a session runs: "cpu", or the name of the GPU.
std::string place_name(const SessionOptions& session);

}  // namespace longhaul
