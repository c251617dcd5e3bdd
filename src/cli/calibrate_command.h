#pragma once
// Defines the flags of `longhaul calibrate METHOD`, for all methods that can be calibrated.

#include <optional>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "cli/prompt_flags.h"

namespace longhaul {

inline constexpr std::string_view kAutoDevice = "auto";

struct CalibrateFlags {
  std::string method;
  ModelFlags model;
  PromptForm form;
  std::string data, compute = "best", device = "auto", state;
  uint64_t seed = 1;
  bool save = false, json = false, quiet = false;

  // Flags that several methods have. Empty or 0 means the default of the method.
  std::vector<int64_t> lengths;
  std::string tasks;
  int prompts = 0;

  // Flags of duo.
  int steps = 100, words = 6;
  double rate = 0.05, penalty = 0.05, sparsity = 0.5;
  int64_t sink = 64, recent = 256;
  std::string full = "stream", gates;

  // Flags of trianglemix.
  int64_t tokens = 2000;
  int triangle_layers = 0;  ///< 0: half of the layers
  std::string rank = "magnitude";

  // Flags of ltri.
  int trials = 200, spans = 4, vectors = 12;
  int64_t block = 128, init = 128;
  double compression = 12, least = 0.1;
  std::string ratio = "row", form_of_ltri = "longhaul";

  // Flags of `calibrate all`.
  std::string methods, out;

  std::optional<ChatTemplate> chat(const Engine& engine) const {
    return form.raw ? std::nullopt : std::optional(engine.chat_template(form.chat_template));
  }
  Compute compute_type() const { return *compute_from_name(compute); }
  /// Returns the queue of the device that --device names. For `auto`, this is a GPU if one is
  /// available, or else the host.
  Queue queue() const;
};

// The following functions run `calibrate METHOD` and `calibrate all`. They return the exit status,
// and throw UserError if the command cannot be executed.
int calibrate_one(const CalibrateFlags& flags);
int calibrate_all(const CalibrateFlags& flags);

}  // namespace longhaul
