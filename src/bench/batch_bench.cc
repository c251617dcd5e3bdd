#include "bench/batch_bench.h"

#include <xxhash.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/nth.h"
#include "base/system_info.h"
#include "base/units.h"
#include "bench/model_work.h"
#include "bench/speed_bench.h"
#include "engine/model_runner.h"
#include "engine/prefill.h"

namespace longhaul {
namespace {

/// Sequences of a batch, whose methods take turns.
class BatchSequences {
 public:
  BatchSequences(std::vector<Sequence>& bases, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      sequences_.push_back(nth(bases, i % std::ssize(bases)).clone());
      sequences_.back().unshare_pages();
    }
    const int32_t vocab = sequences_.front().engine().model().config.vocab;
    best_.resize(static_cast<size_t>(count) * kBestOfRow);
    for (int64_t i = 0; i < count; ++i) {
      rows_.push_back({&nth(sequences_, i), static_cast<int32_t>((11 + 97 * i) % vocab)});
    }
  }

  std::span<const Sequence> all() const { return sequences_; }

  /// Decodes one token in each. Rethrows what a sequence threw.
  void step(ModelRunner& runner) {
    runner.decode(rows_);
    for (const DecodeRow& row : rows_) {
      if (row.failed) std::rethrow_exception(row.failed);
    }
  }

  /// From now on a device chooses the best logits, as for sampling, instead of copying all of them.
  void choose_on_device() {
    if (sequences_.front().options().queue.on_host()) return;
    for (size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].best = std::span(best_).subspan(i * kBestOfRow, kBestOfRow);
    }
  }

  /// Hashes of the logits after each of `steps` greedy steps, [steps][sequences].
  std::vector<uint64_t> hashes(ModelRunner& runner, int64_t steps) {
    std::vector<uint64_t> all;
    for (int64_t i = 0; i < steps; ++i) {
      for (DecodeRow& row : rows_) {
        const std::span<const float> logits = row.sequence->logits();
        const auto best = std::max_element(logits.begin(), logits.end());
        row.token = static_cast<int32_t>(best - logits.begin());
      }
      step(runner);
      for (const Sequence& each : sequences_) {
        const std::span<const float> logits = each.logits();
        all.push_back(XXH3_64bits(logits.data(), logits.size_bytes()));
      }
    }
    return all;
  }

 private:
  static constexpr size_t kBestOfRow = 40;  // top_k of the program
  std::vector<Sequence> sequences_;
  std::vector<DecodeRow> rows_;
  std::vector<BestLogit> best_;
};

/// Brings the sequences to `depth` tokens. False when cancelled.
bool grow_bases(std::vector<Sequence>& bases, int64_t depth, ModelRunner runner,
                const CancelFlag* cancel) {
  const auto tokens = bench_tokens(depth, bases.front().engine().model().config.vocab);
  for (Sequence& base : bases) {
    PrefillHooks hooks;
    hooks.instruction = std::min(depth, kBenchInstruction);
    hooks.cancel = cancel;
    if (!prefill(base, runner, tokens, hooks)) return false;
  }
  return true;
}

double waited_seconds(const Queue& queue) {
  return queue.on_host() ? 0 : queue.device().waited_seconds();
}

size_t bytes_of_step(const Engine& engine, std::span<const Sequence> sequences) {
  const bool on_host = sequences.front().options().queue.on_host();
  const auto count = static_cast<size_t>(sequences.size());
  const size_t reads = on_host ? (count + kMatvecMaxRows - 1) / kMatvecMaxRows : 1;
  size_t bytes = work_of(engine.model()).weight_bytes * reads;
  for (const Sequence& each : sequences) bytes += each.store().live_bytes();
  return bytes;
}

int64_t count_identical(std::vector<Sequence>& bases, int64_t count, int64_t steps,
                        ModelRunner& runner) {
  const std::vector<uint64_t> together = BatchSequences(bases, count).hashes(runner, steps);
  int64_t identical = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Sequence> own;
    own.push_back(nth(bases, i % std::ssize(bases)).clone());
    const std::vector<uint64_t> alone = BatchSequences(own, 1).hashes(runner, steps);
    bool same = true;
    for (int64_t s = 0; s < steps; ++s)
      same = same && nth(alone, s) == nth(together, s * count + i);
    identical += same ? 1 : 0;
  }
  return identical;
}

}  // namespace

void check_batches_fit(const std::shared_ptr<const Engine>& engine,
                       std::span<const SessionOptions> methods, const BatchBench& what) {
  const int64_t most = std::ranges::max(what.sequences), depth = std::ranges::max(what.depths);
  const SessionOptions& first = methods.front();
  const int64_t rows = std::min(most, ModelRunner::most_rows(first.queue, most));
  size_t shared = ModelRunner::working_bytes(*engine, first.queue, first.compute, rows, depth);
  std::vector<size_t> each;  // per method
  for (const SessionOptions& options : methods) {
    const Sequence sequence(engine, options);
    const MemoryForecast alone = sequence.forecast(depth, what.steps);
    shared = std::max(shared, alone.total() - alone.kv);  // weights and the prefill's runner
    each.push_back(sequence.kv_forecast(depth, what.steps));
  }
  for (const size_t base : each) shared += base;  // the sequences are copied from these
  const size_t limit = Sequence(engine, first).memory_limit();
  size_t needed = shared;
  int64_t fit = 0;
  for (int64_t i = 0; i < most; ++i) {
    needed += nth(each, i % std::ssize(each));
    if (needed <= limit) fit = i + 1;
  }
  if (fit == most) return;
  user_error("--sessions {}: {} tokens each need {}, more than {} {}; at most {} fit", most,
             with_commas(depth + what.steps), format_bytes(needed),
             first.memory_limit > 0 ? "--memory-limit" : "the memory that is free,",
             format_bytes(limit), fit);
}

std::vector<BatchSpeed> bench_batches(const std::shared_ptr<const Engine>& engine,
                                      std::span<const SessionOptions> methods,
                                      const BatchBench& what, const CancelFlag* cancel) {
  std::vector<BatchSpeed> speeds;
  const Queue& queue = methods.front().queue;
  const int64_t most_rows = ModelRunner::most_rows(queue, std::ranges::max(what.sequences));
  ModelRunner runner(engine, queue, methods.front().compute, most_rows);
  for (const int64_t depth : what.depths) {
    std::vector<Sequence> bases;
    for (const SessionOptions& options : methods) bases.emplace_back(engine, options);
    const SessionOptions& first = methods.front();
    ModelRunner prefills(engine, first.queue,
                         first.compute);  // whose buffers go before the batches
    if (!grow_bases(bases, depth, std::move(prefills), cancel)) return speeds;
    for (const int64_t count : what.sequences) {
      BatchSpeed speed{.sequences = count, .depth = depth, .steps = what.steps};
      std::vector<double> rates, on_host;
      for (int i = 0; i < what.repeat; ++i) {
        BatchSequences batch(bases, count);
        batch.choose_on_device();
        batch.step(runner);  // grows the buffers
        const PeakResident peak;
        const double waited = waited_seconds(runner.queue());
        const Stopwatch watch;
        for (int64_t s = 0; s < what.steps; ++s) {
          if (requested(cancel)) return speeds;
          batch.step(runner);
        }
        const double seconds = watch.seconds();
        rates.push_back(static_cast<double>(count * what.steps) / seconds);
        on_host.push_back((seconds - waited_seconds(runner.queue()) + waited) /
                          static_cast<double>(what.steps));
        speed.peak_bytes = std::max(speed.peak_bytes, peak.bytes());
        speed.bytes_per_step = bytes_of_step(*engine, batch.all());
        speed.kv_bytes = 0;
        for (const Sequence& each : batch.all()) speed.kv_bytes += each.report().kv_bytes;
      }
      speed.tokens_per_second = spread_of(rates);
      if (!runner.queue().on_host()) speed.host_seconds = spread_of(on_host).median;
      speed.step_seconds = static_cast<double>(count) / speed.tokens_per_second.median;
      if (what.check) speed.identical = count_identical(bases, count, what.steps, runner);
      speeds.push_back(speed);
    }
  }
  return speeds;
}

}  // namespace longhaul
