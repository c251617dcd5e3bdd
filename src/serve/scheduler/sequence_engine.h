#pragma once
// SequenceEngine implements EnginePort with a real model. A model runner has the buffers of one
// computation. All sequences share three runners: one for long prompts, one for short prompts
// between the layers of long ones, and one for decoding.

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/host_memory.h"
#include "engine/model_runner.h"
#include "engine/sequence.h"
#include "serve/scheduler/engine_port.h"

namespace longhaul::serve {

/// Returns the memory limit in bytes of a server on a device for which no limit is set. It is the
/// size of the weights plus 90 % of the device memory that is then free. If the weights are not in
/// device memory yet, they are copied there first. If several devices share the model, the result
/// is determined by the device with the least free memory.
size_t usual_device_limit(const Engine& engine, const Queue& queue);

class SequenceEngine : public EnginePort {
 public:
  /// `options` are used for all sequences, except for the attention method. Weights of `adapters`
  /// are copied to the device. Sequences can be moved to `host_bytes` bytes of host memory, if the
  /// device supports it (HostMemory::make). `parallel` is the usual largest number of replies.
  SequenceEngine(std::shared_ptr<const Engine> engine, SessionOptions options,
                 AdapterEngines adapters = {}, size_t host_bytes = 0, int64_t parallel = 0);

  double now() const override { return since_start_.seconds(); }
  std::unique_ptr<ServedSequence> begin(const MethodSpec& attention,
                                        const std::string& adapter) override;
  std::unique_ptr<ServedSequence> load(const std::filesystem::path& file,
                                       const MethodSpec& attention, const std::string& adapter,
                                       const ServedSequence* parent) override;
  std::unique_ptr<ServedPrefill> prefill(ServedSequence& sequence, std::span<const int32_t> tokens,
                                         const ServedPrefillHooks& hooks,
                                         PrefillLane lane) override;
  bool chooses_highest() const override { return !options_.queue.on_host(); }
  bool begin_decode(std::span<DecodeEntry> entries,
                    const std::function<void()>& before_choice) override;
  void end_decode() override;
  size_t most_bytes(const MethodSpec& attention, int64_t prompt, int64_t reply) const override;
  size_t fixed_bytes() const override { return fixed_; }
  std::shared_ptr<SourceWatch> make_watch(int64_t prompt) const override;
  int64_t vocab() const override;
  size_t kv_bytes_in_use() const override;
  HostUse host_use() const override;
  void expect_host_use(size_t bytes) override;
  bool files_through_host() const override { return host_ != nullptr; }
  std::unique_ptr<SequenceMove> copy_to_host(const ServedSequence& sequence,
                                             const ServedTwins& twins, bool for_file) override;
  std::unique_ptr<SequenceMove> copy_to_device(const ServedSequence& on_host,
                                               const ServedTwins& twins) override;
  ResumeRule resume_rule(const MethodSpec& attention) const override;
  int64_t angles_of(int64_t tokens) const override;

 private:
  SessionOptions with_method(const MethodSpec& attention) const;
  const std::shared_ptr<const Engine>& engine_of(const std::string& adapter) const;

  Stopwatch since_start_;
  std::shared_ptr<const Engine> engine_;
  SessionOptions options_;
  AdapterEngines adapters_;
  std::shared_ptr<HostMemory> host_;  ///< null: the device has no side copies
  const int64_t decode_rows_;         ///< largest number of rows of decode_runner_
  ModelRunner long_runner_, short_runner_, decode_runner_;
  /// The decode step that has begun.
  std::span<DecodeEntry> entries_;
  std::vector<DecodeRow> rows_;
  size_t fixed_ = 0, working_ = 0;
  /// Results of resume_rule(), by the text of the method (as in `--attention`).
  mutable std::map<std::string, ResumeRule> rules_;
};

}  // namespace longhaul::serve
