#include "serve/scheduler/mock_engine.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace longhaul::serve {

class MockSequence : public ServedSequence {
 public:
  explicit MockSequence(MockEngine& engine) : engine_(engine) {}
  ~MockSequence() override { engine_.live_ -= bytes(); }

  std::span<const int32_t> tokens() const override { return tokens_; }
  std::span<const float> logits() const override { return logits_; }
  SequenceFacts facts() const override { return {bytes(), 1, 0}; }

  int64_t reuse_prefix(std::span<const int32_t> prompt) override {
    auto common =
        std::mismatch(tokens_.begin(), tokens_.end(), prompt.begin(), prompt.end()).first -
        tokens_.begin();
    common = std::min<ptrdiff_t>(common, std::ssize(prompt) - 1);
    resize(static_cast<size_t>(common));
    return common;
  }

  std::unique_ptr<ServedSequence> clone() const override {
    if (!engine_.settings_.clones) return nullptr;
    auto copy = std::make_unique<MockSequence>(engine_);
    copy->append(tokens_);
    copy->logits_ = logits_;
    return copy;
  }

  void append(std::span<const int32_t> tokens) {
    engine_.live_ -= bytes();
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    engine_.live_ += bytes();
  }

  void resize(size_t tokens) {
    engine_.live_ -= bytes();
    tokens_.resize(tokens);
    engine_.live_ += bytes();
  }

  void make_logits() {
    const MockSettings& settings = engine_.settings_;
    const int32_t next = settings.next
                             ? settings.next(tokens_)
                             : static_cast<int32_t>('a' + static_cast<int>(tokens_.size() % 26));
    logits_.assign(static_cast<size_t>(settings.vocab), 0.0f);
    logits_[static_cast<size_t>(next)] = 20;
  }

 private:
  size_t bytes() const { return tokens_.size() * engine_.settings_.bytes_per_token; }

  MockEngine& engine_;
  std::vector<int32_t> tokens_;
  std::vector<float> logits_;
};

namespace {

class MockPrefill : public ServedPrefill {
 public:
  MockPrefill(MockEngine& engine, MockSequence& sequence, std::span<const int32_t> tokens,
              ServedPrefillHooks hooks)
      : engine_(engine),
        sequence_(sequence),
        tokens_(tokens.begin(), tokens.end()),
        hooks_(std::move(hooks)) {}

  Advance step(const std::function<void()>& yield) override {
    const MockSettings& settings = engine_.settings();
    const int64_t rows = std::min(settings.chunk, total() - done_);
    for (int layer = 0; layer < settings.layers; ++layer) {
      if (requested(hooks_.cancel)) return Advance::kCancelled;
      if (settings.fault) settings.fault(sequence_.tokens());
      engine_.pass((settings.layer_seconds +
                    settings.layer_seconds_depth * static_cast<double>(sequence_.tokens().size())) *
                   static_cast<double>(rows) / static_cast<double>(settings.chunk));
      if (layer + 1 < settings.layers) yield();
    }
    sequence_.append(
        std::span(tokens_).subspan(static_cast<size_t>(done_), static_cast<size_t>(rows)));
    if (hooks_.all_logits) {
      for (int64_t row = 0; row < rows; ++row) {
        const std::vector<float> logits(static_cast<size_t>(settings.vocab), 0.0f);
        hooks_.all_logits(done_ + row, 1, logits.data());
      }
    }
    done_ += rows;
    if (done_ < total()) return Advance::kMore;
    sequence_.make_logits();
    return Advance::kDone;
  }
  int64_t total() const override { return std::ssize(tokens_); }
  int64_t done() const override { return done_; }

 private:
  MockEngine& engine_;
  MockSequence& sequence_;
  std::vector<int32_t> tokens_;
  ServedPrefillHooks hooks_;
  int64_t done_ = 0;
};

}  // namespace

MockEngine::MockEngine(MockSettings settings) : settings_(std::move(settings)) {}

double MockEngine::now() const {
  if (settings_.virtual_time) return clock_;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void MockEngine::pass(double seconds) {
  if (settings_.virtual_time) {
    clock_ += seconds;
  } else if (seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
}

std::unique_ptr<ServedSequence> MockEngine::begin(const MethodSpec&) {
  return std::make_unique<MockSequence>(*this);
}

std::unique_ptr<ServedPrefill> MockEngine::prefill(ServedSequence& sequence,
                                                   std::span<const int32_t> tokens,
                                                   const ServedPrefillHooks& hooks, PrefillLane) {
  return std::make_unique<MockPrefill>(*this, static_cast<MockSequence&>(sequence), tokens, hooks);
}

void MockEngine::decode(std::span<DecodeEntry> entries) {
  pass(settings_.decode_seconds +
       settings_.decode_seconds_row * static_cast<double>(entries.size()));
  for (DecodeEntry& entry : entries) {
    auto& sequence = static_cast<MockSequence&>(*entry.sequence);
    try {
      if (settings_.fault) settings_.fault(sequence.tokens());
      sequence.append({&entry.token, 1});
      sequence.make_logits();
    } catch (const std::exception& error) {
      entry.error = error.what();
    }
  }
}

size_t MockEngine::most_bytes(const MethodSpec&, int64_t prompt, int64_t reply) const {
  return static_cast<size_t>(prompt + reply) * settings_.bytes_per_token;
}

}  // namespace longhaul::serve
