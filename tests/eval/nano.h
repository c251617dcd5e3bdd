#pragma once
// The embedded model and the objects that a run needs from it.

#include "engine/engine.h"
#include "eval/compose.h"
#include "eval/data.h"
#include "eval/task.h"

namespace longhaul::testing_support {

inline const std::shared_ptr<const Engine>& nano() {
  static const auto engine = Engine::open(std::filesystem::path(LONGHAUL_MODELS) / "nano");
  return engine;
}

inline const PromptComposer& nano_composer() {
  static const PromptComposer composer(nano()->tokenizer(), nano()->chat_template());
  return composer;
}

inline const EvalData& test_data() {
  static const EvalData data;
  return data;
}

/// A request like the runner's.
inline TaskRequest request_of(int64_t length, int samples, uint64_t seed = 1) {
  TaskRequest request;
  request.length = length;
  request.samples = samples;
  request.seed = seed;
  request.data = &test_data();
  request.prompt_tokens = [](const Sample& sample) { return nano_composer().most_tokens(sample); };
  return request;
}

}  // namespace longhaul::testing_support
