#pragma once
// Session combines a sequence and a model runner of its own, for programs that process one prompt
// at a time.

#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "engine/sequence.h"

namespace longhaul {

class Session {
 public:
  Session(std::shared_ptr<const Engine> engine, const SessionOptions& options);

  Sequence& sequence() { return sequence_; }
  const Sequence& sequence() const { return sequence_; }
  ModelRunner& runner() { return runner_; }

  /// Processes a prompt (engine/prefill.h). Returns false if it was cancelled.
  bool prefill(std::span<const int32_t> tokens, const PrefillHooks& hooks = {});
  /// Processes one generated token (ModelRunner::decode).
  void decode(int32_t token) { runner_.decode(sequence_, token); }

  // The following functions call those of the sequence, which engine/sequence.h describes.
  const Engine& engine() const { return sequence_.engine(); }
  const SessionOptions& options() const { return sequence_.options(); }
  std::span<const int32_t> tokens() const { return sequence_.tokens(); }
  std::span<const float> logits() const { return sequence_.logits(); }
  MemoryForecast forecast(int64_t tokens) const { return sequence_.forecast(tokens); }
  void check_room(int64_t tokens, int64_t reply) const { sequence_.check_room(tokens, reply); }
  bool has_room(int64_t tokens, int64_t reply, size_t others) const {
    return sequence_.has_room(tokens, reply, others);
  }
  int64_t reuse_prefix(std::span<const int32_t> tokens) { return sequence_.reuse_prefix(tokens); }
  void save(const std::filesystem::path& file) const { sequence_.save(file); }
  void load(const std::filesystem::path& file) { sequence_.load(file); }
  void observe(AttentionObserver observer) { sequence_.observe(std::move(observer)); }
  SessionReport report() const { return sequence_.report(); }
  const KvStore& store() const { return sequence_.store(); }
  ContextCopy copy_context() const { return sequence_.copy_context(); }
  int64_t begin_with(const ContextCopy& copy, std::span<const int32_t> prompt,
                     int64_t instruction = 0) {
    return sequence_.begin_with(copy, prompt, instruction);
  }

 private:
  ModelRunner runner_;
  Sequence sequence_;
};

}  // namespace longhaul
