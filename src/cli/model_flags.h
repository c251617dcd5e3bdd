#pragma once
// Defines the flags that select the model, its adapters and profiles, the number of threads, and
// the instruction set.

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
  /// Folder or known name of the profiles to use; empty: the profiles next to the model.
  std::string profiles;
  int threads = 0;  ///< 0: all cores that this process may use
  /// Instruction set of the kernels; empty: the best that the CPU supports.
  std::string isa;

  void add_to(CLI::App& app);
  /// Adds only the flags for the model and for the number of threads.
  void add_model_to(CLI::App& app);
  /// Sets the number of threads, and downloads the model if necessary. Throws UserError if the
  /// model cannot be found or downloaded.
  ModelSource source() const;
  /// Calls source(), selects the instruction set of the kernels, and opens the model. Calls
  /// `at_hand` before it opens the model, when all files of the model are on disk.
  std::shared_ptr<const Engine> open(const std::function<void()>& at_hand = [] {}) const;
};

/// Parses FILE[:SCALE], the value of `flag`. If the whole text is the name of an existing file, it
/// has no scale. Otherwise the text after the last colon is the scale. Throws a UserError that
/// names `flag` if the scale is invalid.
AdapterSource parse_adapter(const char* flag, const std::string& text);

/// Returns the number type in which prefill multiplies matrices: "bf16", "int16", "int8", "f32" or
/// "fp8".
const char* products_of(const SessionOptions& session);
/// Returns a description of the kernels in use, such as "amx, bf16 products, 2 threads".
std::string kernels_line(const SessionOptions& session);

/// Returns the name of the processor on which a session runs: "cpu", or the name of the GPU.
std::string place_name(const SessionOptions& session);

}  // namespace longhaul
