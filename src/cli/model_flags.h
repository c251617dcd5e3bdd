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
  std::string profiles;            ///< a folder or a known name; empty: the profiles of the model
  int threads = 0;                 ///< 0: all cores that this process may use
  std::string isa;                 ///< empty: the best level of the CPU

  void add_to(CLI::App& app);
  /// Adds only the flags for the model and for the number of threads.
  void add_model_to(CLI::App& app);
  /// Sets the number of threads, and downloads the model if necessary. Throws UserError.
  ModelSource source() const;
  /// Calls source(), selects the instruction set of the kernels, calls `at_hand`, and opens the
  /// model. When `at_hand` is called, the model's files are complete on disk.
  std::shared_ptr<const Engine> open(const std::function<void()>& at_hand = [] {}) const;
};

/// Reads FILE[:SCALE]. The part after the last colon is a scale, unless the whole text is a file.
/// Throws UserError that names `flag`.
AdapterSource parse_adapter(const char* flag, const std::string& text);

/// Returns the type of the matrix products in prefill: "bf16", "int16", "int8", "f32" or "fp8".
const char* products_of(const SessionOptions& session);
/// Returns the kernels in use, such as "amx, bf16 products, 2 threads".
std::string kernels_line(const SessionOptions& session);

/// Returns where a session runs: "cpu", or the name of the GPU.
std::string place_name(const SessionOptions& session);

}  // namespace longhaul
