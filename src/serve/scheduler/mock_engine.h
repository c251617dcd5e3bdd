#pragma once
// MockEngine is an engine for tests. It computes nothing. Its clock advances by the simulated time
// of layers, and the test chooses the tokens of replies.

#include <atomic>
#include <chrono>
#include <functional>

#include "serve/scheduler/engine_port.h"

namespace longhaul::serve {

struct MockSettings {
  bool virtual_time = true;  ///< true: a simulated clock advances; false: the engine sleeps
  int layers = 12;
  int64_t chunk = 512;
  double layer_seconds = 1e-3;        ///< seconds per layer and chunk, for chunks of any size
  double layer_seconds_depth = 1e-7;  ///< additional seconds per layer for every earlier token
  double decode_seconds = 2e-3;       ///< seconds of a decode step, for any number of sequences
  double decode_seconds_row = 2e-4;   ///< additional seconds for every sequence in the step
  size_t bytes_per_token = 1024;
  size_t fixed = 0;
  int64_t vocab = 256;
  bool clones = true;
  size_t host_memory = 0;      ///< bytes of host memory beside the device; 0: there is none
  int move_polls = 3;          ///< calls of SequenceMove::done() until a copy has ended
  bool moves_fail = false;     ///< whether copies fail when they end
  bool decodes_aside = false;  ///< the result of EnginePort::begin_decode()
  /// The resume rule of all methods except dense attention.
  ResumeRule rule{.group = ResumeGroup::kTurn};
  /// Returns the token that follows a sequence. By default, it is a letter that depends on the
  /// length of the sequence.
  std::function<int32_t(std::span<const int32_t> tokens)> next;
  /// Called before each step. A test can make the step fail by throwing an exception here.
  std::function<void(std::span<const int32_t> tokens)> fault;
};

class MockEngine : public EnginePort {
 public:
  explicit MockEngine(MockSettings settings);

  double now() const override;
  std::unique_ptr<ServedSequence> begin(const MethodSpec& attention,
                                        const std::string& adapter) override;
  std::unique_ptr<ServedSequence> load(const std::filesystem::path& file,
                                       const MethodSpec& attention, const std::string& adapter,
                                       const ServedSequence* parent) override;
  std::unique_ptr<ServedPrefill> prefill(ServedSequence& sequence, std::span<const int32_t> tokens,
                                         const ServedPrefillHooks& hooks,
                                         PrefillLane lane) override;
  bool begin_decode(std::span<DecodeEntry> entries, const std::function<void()>&) override {
    entries_ = entries;
    return settings_.decodes_aside;
  }
  void end_decode() override;
  size_t most_bytes(const MethodSpec& attention, int64_t prompt, int64_t reply) const override;
  size_t fixed_bytes() const override { return settings_.fixed; }
  std::shared_ptr<SourceWatch> make_watch(int64_t) const override { return nullptr; }
  int64_t vocab() const override { return settings_.vocab; }
  size_t kv_bytes_in_use() const override { return live_; }
  ResumeRule resume_rule(const MethodSpec& attention) const override;
  int64_t angles_of(int64_t) const override { return 0; }
  HostUse host_use() const override { return {host_live_, settings_.host_memory}; }
  bool files_through_host() const override { return settings_.host_memory > 0; }
  std::unique_ptr<SequenceMove> copy_to_host(const ServedSequence& sequence,
                                             const ServedTwins& twins, bool for_file) override;
  std::unique_ptr<SequenceMove> copy_to_device(const ServedSequence& on_host,
                                               const ServedTwins& twins) override;

  void pass(double seconds);  ///< advances the clock by `seconds`
  const MockSettings& settings() const { return settings_; }
  /// Returns the bytes of all existing sequences. Tokens that clones share are counted once.
  size_t live_bytes() const { return live_; }

 private:
  friend class MockSequence;
  friend struct MockBlock;
  MockSettings settings_;
  std::span<DecodeEntry> entries_;  ///< the decode step that has begun
  double clock_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<size_t> live_ = 0;
  std::atomic<size_t> host_live_ = 0;  ///< bytes of sequences in host memory
};

}  // namespace longhaul::serve
