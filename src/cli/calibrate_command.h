#pragma once
// What `longhaul calibrate METHOD` is told, by method.

#include <optional>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "cli/prompt.h"

namespace longhaul {

struct CalibrateFlags {
  std::string method;
  ModelFlags model;
  PromptFormFlags form;
  std::string data, compute = "best";
  uint64_t seed = 1;
  bool save = false, json = false, quiet = false;

  // duo
  int steps = 100, words = 6;
  double rate = 0.05, penalty = 0.05, sparsity = 0.5;
  int64_t sink = 64, recent = 256;
  std::vector<int64_t> lengths;  ///< shortest and longest; empty: by the model
  std::string full = "stream", tasks = "passkeys,variables,key-value,magic", state, gates;

  // trianglemix
  int prompts = 100;
  int64_t tokens = 2000;
  int triangle_layers = 0;  ///< 0: half of them
  std::string rank = "signed";

  std::optional<ChatTemplate> chat(const Engine& engine) const {
    return form.raw ? std::nullopt : std::optional(engine.chat_template(form.chat_template));
  }
  Compute compute_type() const { return *compute_from_name(compute); }
};

// Exit statuses; they throw UserError.
int calibrate_duo(const CalibrateFlags& flags);
int calibrate_trianglemix(const CalibrateFlags& flags);

}  // namespace longhaul
