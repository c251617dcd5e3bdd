#include "serve/scheduler/sequence_engine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/prefill.h"
#include "engine/sequence_copy.h"
#include "engine/sources.h"
#include "kv/shared_pages.h"
#include "model/device_model.h"

namespace longhaul::serve {
namespace {

constexpr int64_t kShortRows =
    256;  // most rows of a prompt that runs between the layers of another

/// Counts the rows that each list of the store has of every bin.
RetentionMap retention_of(const KvStore& store, std::span<const int32_t> tokens) {
  RetentionMap map;
  map.tokens = std::ssize(tokens);
  map.layers = store.layout().layers();
  for (int layer = 0; layer < map.layers; ++layer) {
    map.heads = std::max(map.heads, store.lists(layer));
  }
  map.bins = std::min(map.tokens, RetentionMap::kMostBins);
  const auto bins = static_cast<size_t>(map.bins);
  map.kept.assign(static_cast<size_t>(map.layers * map.heads) * bins, 0.0f);
  for (int layer = 0; layer < map.layers && map.bins > 0; ++layer) {
    for (int head = 0; head < store.lists(layer); ++head) {
      float* kept = map.kept.data() + static_cast<size_t>(layer * map.heads + head) * bins;
      for (int64_t row = 0; row < store.length(layer, head); ++row) {
        const int64_t token = store.token_of(layer, head, row);
        if (token >= 0 && token < map.tokens) kept[map.bin_of(token)] += 1;
      }
      for (int64_t bin = 0; bin < map.bins; ++bin) {
        kept[bin] /= static_cast<float>(map.begin_of(bin + 1) - map.begin_of(bin));
      }
    }
  }
  return map;
}

class EngineSequence : public ServedSequence {
 public:
  explicit EngineSequence(Sequence made) : sequence(std::move(made)) {}

  std::span<const int32_t> tokens() const override { return sequence.tokens(); }
  std::span<const float> logits() const override { return sequence.logits(); }
  size_t kv_bytes() const override { return sequence.kv_bytes(); }
  double pairs_share() const override { return sequence.pairs_share(); }
  double attention_seconds() const override { return sequence.attention_seconds(); }
  bool rewinds() const override {
    return sequence.method().can_rewind() &&
           sequence.engine().model().config.recurrent_layers() == 0;
  }
  void truncate(int64_t length) override { sequence.truncate(length); }
  void drop_logits() override { sequence.drop_logits(); }
  int64_t begin_with(const ServedSequence& dense, std::span<const int32_t> prompt,
                     int64_t instruction, int64_t most) override;
  void save(const std::filesystem::path& file, int64_t parent_tokens,
            const std::string& parent) const override {
    sequence.save_after(file, {parent_tokens, parent});
  }
  bool can_leave_out() const override { return sequence.can_leave_out(); }
  size_t own_bytes() const override { return sequence.own_bytes(); }
  std::unique_ptr<ServedSequence> clone() const override {
    return std::make_unique<EngineSequence>(sequence.clone());
  }

  void watch_sources(std::shared_ptr<SourceWatch> watch) override {
    if (!watch) return sequence.observe({});
    sequence.observe(
        [watch = std::move(watch)](const LayerStep& step, std::span<const AttendTask> tasks) {
          watch->observe(step, tasks);
        });
  }
  RetentionMap retention() const override { return retention_of(sequence.store(), tokens()); }

  Sequence sequence;
};

/// A sequence in host memory beside a device. Memory outside of the pinned blocks counts as well.
class HostSequence : public EngineSequence {
 public:
  HostSequence(Sequence made, std::shared_ptr<HostMemory> memory)
      : EngineSequence(std::move(made)), memory_(std::move(memory)) {
    const size_t pages = sequence.store().page_bytes();
    other_ = kv_bytes() - std::min(kv_bytes(), pages);
    memory_->blocks().add_other(other_);
  }
  ~HostSequence() override { memory_->blocks().remove_other(other_); }

 private:
  std::shared_ptr<HostMemory> memory_;
  size_t other_ = 0;
};

class EngineMove : public SequenceMove {
 public:
  EngineMove(std::shared_ptr<HostMemory> memory, const Sequence& from,
             const SessionOptions& options, const SequenceTwins& twins, bool pinned)
      : memory_(memory),
        counts_(options.queue.on_host() && pinned),
        copy_(std::move(memory), from, options, twins, pinned) {}
  void advance(double seconds) override { copy_.advance(seconds); }
  bool done() const override { return copy_.done(); }
  std::string error() const override { return copy_.error(); }
  size_t bytes_left() const override { return copy_.bytes_left(); }
  std::unique_ptr<ServedSequence> take() override {
    if (counts_) return std::make_unique<HostSequence>(copy_.take(), memory_);
    return std::make_unique<EngineSequence>(copy_.take());
  }

 private:
  std::shared_ptr<HostMemory> memory_;
  bool counts_;  ///< whether the copy counts as use of the host memory
  SequenceCopy copy_;
};

const Sequence* sequence_of(const ServedSequence* served) {
  return served == nullptr ? nullptr : &static_cast<const EngineSequence*>(served)->sequence;
}

Sequence& sequence_of(ServedSequence& served) {
  return static_cast<EngineSequence&>(served).sequence;
}

int64_t EngineSequence::begin_with(const ServedSequence& dense, std::span<const int32_t> prompt,
                                   int64_t instruction, int64_t most) {
  const auto& from = static_cast<const EngineSequence&>(dense).sequence;
  return sequence.begin_with(from.copy_context(), prompt, instruction, most);
}

std::string message_of(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "the engine failed";
  }
}

class EnginePrefill : public ServedPrefill {
 public:
  EnginePrefill(ModelRunner& runner, Sequence& sequence, std::span<const int32_t> tokens,
                const ServedPrefillHooks& hooks)
      : runner_(runner), prefill_(sequence, tokens, hooks_of(hooks)) {}

  Advance step(const std::function<void()>& yield) override {
    switch (prefill_.step(runner_, yield)) {
      case PrefillStep::kMore:
        return Advance::kMore;
      case PrefillStep::kDone:
        return Advance::kDone;
      case PrefillStep::kCancelled:
        return Advance::kCancelled;
    }
    return Advance::kDone;
  }
  int64_t total() const override { return prefill_.tokens(); }
  int64_t done() const override { return std::max(within_, prefill_.done()); }

 private:
  PrefillHooks hooks_of(const ServedPrefillHooks& hooks) {
    PrefillHooks made;
    made.progress = [this](int64_t done, int64_t) { within_ = done; };
    made.cancel = hooks.cancel;
    made.all_logits = hooks.all_logits;
    made.instruction = hooks.instruction;
    made.reply = hooks.reply;
    made.to_come = hooks.to_come;
    return made;
  }

  int64_t within_ = 0;  ///< finished tokens as of the last layer
  ModelRunner& runner_;
  Prefill prefill_;
};

}  // namespace

size_t usual_device_limit(const Engine& engine, const Queue& queue) {
  const size_t weights = engine.on_device(queue)->bytes();
  size_t free = queue.device().free_bytes();
  for (int rank = 0; rank < queue.ranks() && queue.ranks() > 1; ++rank) {
    free = std::min(free, queue.communicator()->device(rank)->free_bytes());
  }
  return weights + free / 10 * 9;
}

SequenceEngine::SequenceEngine(std::shared_ptr<const Engine> engine, SessionOptions options,
                               AdapterEngines adapters, size_t host_bytes, int64_t parallel)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      adapters_(std::move(adapters)),
      host_(HostMemory::make(options_.queue, host_bytes)),
      decode_rows_(ModelRunner::most_rows(options_.queue, parallel)),
      long_runner_(engine_, options_.queue, options_.compute),
      short_runner_(engine_, options_.queue, options_.compute),
      decode_runner_(engine_, options_.queue, options_.compute, decode_rows_) {
  const Sequence probe(engine_, options_);
  const MemoryForecast forecast = probe.forecast(probe.chunk());
  working_ = forecast.working;
  const int64_t keys = options_.context > 0
                           ? options_.context
                           : std::max<int64_t>(1, engine_->model().shape.trained_context);
  const auto runner_bytes = [&](const Engine& of, int64_t rows) {
    return ModelRunner::working_bytes(of, options_.queue, options_.compute, rows, keys);
  };
  const auto runners = [&](const Engine& of) {
    return runner_bytes(of, probe.chunk()) + runner_bytes(of, kShortRows) +
           runner_bytes(of, decode_rows_);
  };
  const size_t without = runners(*engine_);
  size_t most = without;  // products with a longer adapter have longer rows
  fixed_ = forecast.weights + forecast.process + working_ + without -
           runner_bytes(*engine_, probe.chunk());
  for (const auto& [name, adapted] : adapters_) {
    fixed_ += adapted->bytes_beside_base(options_.queue);
    most = std::max(most, runners(*adapted));
  }
  fixed_ += most - without;
}

HostUse SequenceEngine::host_use() const {
  if (host_ == nullptr) return {};
  return {host_->bytes_in_use(), host_->blocks().most_bytes()};
}

void SequenceEngine::expect_host_use(size_t bytes) {
  if (host_ == nullptr) return;
  host_->blocks().expect(bytes);
  host_->copies().wake();
}

std::unique_ptr<SequenceMove> SequenceEngine::copy_to_host(const ServedSequence& sequence,
                                                           const ServedTwins& twins,
                                                           bool for_file) {
  const Sequence& from = *sequence_of(&sequence);
  if (host_ == nullptr || !SequenceCopy::can_copy(from)) return nullptr;
  SessionOptions options = from.options();
  options.queue = {};
  return std::make_unique<EngineMove>(
      host_, from, options, SequenceTwins{sequence_of(twins.here), sequence_of(twins.there)},
      !for_file);
}

std::unique_ptr<SequenceMove> SequenceEngine::copy_to_device(const ServedSequence& on_host,
                                                             const ServedTwins& twins) {
  const Sequence& from = *sequence_of(&on_host);
  if (host_ == nullptr || !SequenceCopy::can_copy(from)) return nullptr;
  SessionOptions options = from.options();
  options.queue = options_.queue;
  options.memory_limit = options_.memory_limit;
  return std::make_unique<EngineMove>(
      host_, from, options, SequenceTwins{sequence_of(twins.here), sequence_of(twins.there)}, true);
}

const std::shared_ptr<const Engine>& SequenceEngine::engine_of(const std::string& adapter) const {
  return adapter.empty() ? engine_ : adapters_.at(adapter);
}

SessionOptions SequenceEngine::with_method(const MethodSpec& attention) const {
  SessionOptions options = options_;
  options.attention = attention;
  return options;
}

std::unique_ptr<ServedSequence> SequenceEngine::begin(const MethodSpec& attention,
                                                      const std::string& adapter) {
  return std::make_unique<EngineSequence>(Sequence(engine_of(adapter), with_method(attention)));
}

std::unique_ptr<ServedSequence> SequenceEngine::load(const std::filesystem::path& file,
                                                     const MethodSpec& attention,
                                                     const std::string& adapter,
                                                     const ServedSequence* parent) {
  SessionOptions options = with_method(attention);
  if (host_ != nullptr) {  // only the engine's thread may use the device
    const ModelShape& shape = engine_of(adapter)->model().shape;
    const auto method = attention.for_model(shape).make(shape);
    options.chunk = chunk_of(options.chunk, *method, options.queue);
    options.queue = {};
    options.memory_limit = std::numeric_limits<size_t>::max() / 4;  // the caller has checked it
  }
  Sequence loaded(engine_of(adapter), options);
  if (parent != nullptr) {
    loaded.load_after(file, static_cast<const EngineSequence*>(parent)->sequence);
  } else {
    loaded.load(file);
  }
  return std::make_unique<EngineSequence>(std::move(loaded));
}

std::unique_ptr<ServedPrefill> SequenceEngine::prefill(ServedSequence& sequence,
                                                       std::span<const int32_t> tokens,
                                                       const ServedPrefillHooks& hooks,
                                                       PrefillLane lane) {
  engine_->check_known(tokens);
  ModelRunner& runner = lane == PrefillLane::kLong ? long_runner_ : short_runner_;
  return std::make_unique<EnginePrefill>(runner, sequence_of(sequence), tokens, hooks);
}

bool SequenceEngine::begin_decode(std::span<DecodeEntry> entries,
                                  const std::function<void()>& before_choice) {
  entries_ = entries;
  rows_.clear();
  bool waits = options_.queue.on_host() || options_.queue.ranks() > 1;
  for (const DecodeEntry& entry : entries) {
    DecodeRow row{&sequence_of(*entry.sequence), entry.token};
    if (entry.highest != nullptr) row.best = {entry.highest, 1};
    row.rules.biases = entry.biases;
    row.rules.mask = entry.mask;
    rows_.push_back(row);
    waits = waits || entry.highest == nullptr;  // all logits are copied to the host
  }
  decode_runner_.begin_decode(rows_, before_choice);
  return !waits;
}

void SequenceEngine::end_decode() {
  decode_runner_.end_decode();
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].failed) entries_[i].error = message_of(rows_[i].failed);
  }
}

size_t SequenceEngine::most_bytes(const MethodSpec& attention, int64_t prompt,
                                  int64_t reply) const {
  const Sequence probe(engine_, with_method(attention));
  const MemoryForecast forecast = probe.forecast(prompt, reply);
  return forecast.kv + (forecast.working > working_ ? forecast.working - working_ : 0);
}

std::shared_ptr<SourceWatch> SequenceEngine::make_watch(int64_t prompt) const {
  const ModelShape& shape = engine_->model().shape;
  return std::make_shared<SourceWatch>(shape, heads_to_watch(shape), prompt);
}

int64_t SequenceEngine::vocab() const { return engine_->model().config.vocab; }

size_t SequenceEngine::kv_bytes_in_use() const { return shared_page_bytes_in_use(options_.queue); }

ResumeRule SequenceEngine::resume_rule(const MethodSpec& attention) const {
  const auto known = rules_.find(attention.text());
  if (known != rules_.end()) return known->second;
  const Sequence probe(engine_, with_method(attention));
  ResumeRule rule = probe.method().resume_rule(probe.chunk());
  if (engine_->model().config.recurrent_layers() > 0) {  // their state does not go back
    const bool evicts = rule.evicts_after_dense();
    const bool anywhere =
        rule.group == ResumeGroup::kDense || rule.group == ResumeGroup::kRewindable;
    if (anywhere) rule = {.group = evicts ? ResumeGroup::kTurn : ResumeGroup::kGrid};
  }
  return rules_[attention.text()] = rule;
}

int64_t SequenceEngine::angles_of(int64_t tokens) const {
  const RopeSpec& rope = engine_->model().config.rope;
  if (rope.same_angles(1, tokens)) return 0;
  return rope.same_angles(tokens, tokens + 1) ? 1 : tokens;
}

}  // namespace longhaul::serve
