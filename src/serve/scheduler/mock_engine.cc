#include "serve/scheduler/mock_engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/byte_stream.h"

namespace longhaul::serve {

/// Tokens that clones share, for the count of bytes.
struct MockBlock {
  MockBlock(MockEngine& engine, bool on_host, size_t b)
      : live(on_host ? engine.host_live_ : engine.live_), bytes(b) {
    live += bytes;
  }
  ~MockBlock() { live -= bytes; }
  MockBlock(const MockBlock&) = delete;
  MockBlock& operator=(const MockBlock&) = delete;
  std::atomic<size_t>& live;
  size_t bytes;
};

class MockSequence : public ServedSequence {
 public:
  MockSequence(MockEngine& engine, const MethodSpec& method, bool on_host = false)
      : engine_(engine), method_(method), on_host_(on_host) {}

  /// Returns a copy at the other place. Blocks that are shared with `twins.here` are those of
  /// `twins.there`.
  std::unique_ptr<MockSequence> elsewhere(const ServedTwins& twins) const {
    auto copy = std::make_unique<MockSequence>(engine_, method_, !on_host_);
    const auto* const here = static_cast<const MockSequence*>(twins.here);
    const auto* const there = static_cast<const MockSequence*>(twins.there);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const bool shared = here != nullptr && i < here->blocks_.size() &&
                          i < there->blocks_.size() && here->blocks_[i] == blocks_[i];
      copy->blocks_.push_back(
          shared ? there->blocks_[i]
                 : std::make_shared<MockBlock>(engine_, !on_host_, blocks_[i]->bytes));
    }
    copy->tokens_ = tokens_;
    copy->logits_ = logits_;
    copy->set_tail();
    return copy;
  }

  std::span<const int32_t> tokens() const override { return tokens_; }
  std::span<const float> logits() const override { return logits_; }
  size_t kv_bytes() const override { return tokens_.size() * engine_.settings_.bytes_per_token; }
  double pairs_share() const override { return 1; }
  double attention_seconds() const override { return 0; }

  bool rewinds() const override {
    const ResumeGroup group = engine_.resume_rule(method_).group;
    return group == ResumeGroup::kRewindable || group == ResumeGroup::kDense;
  }
  void truncate(int64_t length) override {
    if (static_cast<size_t>(length) == tokens_.size()) return;
    const std::vector<int32_t> kept(tokens_.begin(), tokens_.begin() + length);
    const auto blocks = kept.size() / kBlock;
    tokens_.resize(blocks * kBlock);
    blocks_.resize(blocks);
    tail_.reset();
    append(std::span(kept).subspan(blocks * kBlock));
    logits_.clear();
  }
  void drop_logits() override { logits_.clear(); }
  int64_t begin_with(const ServedSequence& dense, std::span<const int32_t> prompt, int64_t,
                     int64_t most) override {
    const auto& from = static_cast<const MockSequence&>(dense);
    const int64_t last = engine_.resume_rule(method_).last;
    const int64_t taken = std::min(most, std::ssize(prompt) - last);
    take(from);
    truncate(std::max<int64_t>(0, taken));
    return taken;
  }
  void save(const std::filesystem::path& file, int64_t parent_tokens,
            const std::string&) const override {
    LH_ASSERT(on_host_ == engine_.files_through_host());
    ByteWriter out(file);
    out.number(parent_tokens);
    out.array(std::span(tokens_).subspan(static_cast<size_t>(parent_tokens)));
    out.array(std::span<const float>(logits_));
    out.finish();
  }
  bool can_leave_out() const override { return rewinds(); }
  void load(const std::filesystem::path& file, const MockSequence* parent) {
    ByteReader in(file);
    const auto before = in.number<int64_t>();
    if (parent != nullptr) take(*parent);
    truncate(before);
    append(in.array<int32_t>());
    logits_ = in.array<float>();
  }
  size_t own_bytes() const override {
    size_t own = tail_ ? tail_->bytes : 0;
    for (const auto& block : blocks_) own += block.use_count() == 1 ? block->bytes : 0;
    return own;
  }

  std::unique_ptr<ServedSequence> clone() const override {
    if (!engine_.settings_.clones) return nullptr;
    auto copy = std::make_unique<MockSequence>(engine_, method_, on_host_);
    copy->take(*this);
    return copy;
  }

  void watch_sources(std::shared_ptr<SourceWatch>) override {}

  RetentionMap retention() const override {
    RetentionMap map;
    map.tokens = std::ssize(tokens_);
    map.layers = engine_.settings_.layers;
    map.heads = 1;
    map.bins = std::min(map.tokens, RetentionMap::kMostBins);
    map.kept.assign(static_cast<size_t>(map.layers * map.bins), 1.0f);
    return map;
  }

  void append(std::span<const int32_t> tokens) {
    const size_t each = engine_.settings_.bytes_per_token;
    for (const int32_t token : tokens) {
      tokens_.push_back(token);
      if (tokens_.size() % kBlock == 0) {
        tail_.reset();
        blocks_.push_back(std::make_shared<MockBlock>(engine_, on_host_, kBlock * each));
      }
    }
    set_tail();
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
  void set_tail() {
    tail_ = std::make_unique<MockBlock>(
        engine_, on_host_, tokens_.size() % kBlock * engine_.settings_.bytes_per_token);
  }
  void take(const MockSequence& from) {
    tokens_ = from.tokens_;
    logits_ = from.logits_;
    blocks_ = from.blocks_;
    set_tail();
  }

  static constexpr size_t kBlock = 16;
  MockEngine& engine_;
  MethodSpec method_;
  bool on_host_;
  std::vector<int32_t> tokens_;
  std::vector<float> logits_;
  std::vector<std::shared_ptr<MockBlock>> blocks_;
  std::unique_ptr<MockBlock> tail_;
};

namespace {

class MockMove : public SequenceMove {
 public:
  MockMove(std::unique_ptr<MockSequence> copy, const MockSettings& settings)
      : copy_(std::move(copy)), polls_(settings.move_polls), fails_(settings.moves_fail) {}
  void advance(double) override {}
  bool done() const override { return polls_ == 0 || --polls_ == 0; }
  std::string error() const override { return fails_ ? "the copy failed" : ""; }
  size_t bytes_left() const override { return 0; }
  std::unique_ptr<ServedSequence> take() override { return std::move(copy_); }

 private:
  std::unique_ptr<MockSequence> copy_;
  mutable int polls_;
  bool fails_;
};

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

std::unique_ptr<ServedSequence> MockEngine::begin(const MethodSpec& attention, const std::string&) {
  return std::make_unique<MockSequence>(*this, attention);
}

std::unique_ptr<ServedSequence> MockEngine::load(const std::filesystem::path& file,
                                                 const MethodSpec& attention, const std::string&,
                                                 const ServedSequence* parent) {
  auto loaded = std::make_unique<MockSequence>(*this, attention, files_through_host());
  loaded->load(file, static_cast<const MockSequence*>(parent));
  return loaded;
}

std::unique_ptr<SequenceMove> MockEngine::copy_to_host(const ServedSequence& sequence,
                                                       const ServedTwins& twins, bool) {
  return std::make_unique<MockMove>(static_cast<const MockSequence&>(sequence).elsewhere(twins),
                                    settings_);
}

std::unique_ptr<SequenceMove> MockEngine::copy_to_device(const ServedSequence& on_host,
                                                         const ServedTwins& twins) {
  return std::make_unique<MockMove>(static_cast<const MockSequence&>(on_host).elsewhere(twins),
                                    settings_);
}

ResumeRule MockEngine::resume_rule(const MethodSpec& attention) const {
  if (attention.text() == "dense") return {.group = ResumeGroup::kDense, .is_dense = true};
  return settings_.rule;
}

std::unique_ptr<ServedPrefill> MockEngine::prefill(ServedSequence& sequence,
                                                   std::span<const int32_t> tokens,
                                                   const ServedPrefillHooks& hooks, PrefillLane) {
  return std::make_unique<MockPrefill>(*this, static_cast<MockSequence&>(sequence), tokens, hooks);
}

void MockEngine::end_decode() {
  pass(settings_.decode_seconds +
       settings_.decode_seconds_row * static_cast<double>(entries_.size()));
  for (DecodeEntry& entry : entries_) {
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
