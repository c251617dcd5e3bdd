#include "engine/model_runner.h"

#include <algorithm>

#include "base/error.h"
#include "engine/model_runner_state.h"
#include "engine/sequence_state.h"

namespace longhaul {
namespace {

Decoder make_decoder(const Engine& engine, const Queue& queue, Compute compute) {
  if (queue.on_host()) {
    if (compute == Compute::kFp8) user_error("--compute fp8: only GPUs multiply 8-bit floats");
    return {engine.model(), compute};
  }
  queue.device().ops().input(compute);  // throws before the weights are copied
  return {engine.on_device(queue), compute};
}

}  // namespace

ModelRunner::State::State(std::shared_ptr<const Engine> e, const Queue& q, Compute compute)
    : engine(std::move(e)), queue(q) {
  if (queue.ranks() == 1) {
    decoders.push_back(make_decoder(*engine, queue, compute));
    return;
  }
  workers = crew_of(queue);
  std::vector<std::optional<Decoder>> made(static_cast<size_t>(queue.ranks()));
  rethrow_first(run_team(queue, *workers, [&](int member) {
    nth(made, member).emplace(make_decoder(*engine, Queue(queue.communicator(), member), compute));
  }));
  for (std::optional<Decoder>& decoder : made) decoders.push_back(std::move(*decoder));
}

Decoder& ModelRunner::State::decoder(const Engine& of, const Queue& member) {
  Decoder& found = nth(decoders, member.rank());
  member.on_host() ? found.use(of.model()) : found.use(of.on_device(member));
  return found;
}

ModelRunner::ModelRunner(std::shared_ptr<const Engine> engine, const Queue& queue, Compute compute)
    : state_(std::make_unique<State>(std::move(engine), queue, compute)) {}
ModelRunner::~ModelRunner() = default;
ModelRunner::ModelRunner(ModelRunner&&) noexcept = default;

size_t ModelRunner::working_bytes(const Engine& engine, const Queue& queue, Compute compute,
                                  int64_t rows, int64_t keys) {
  if (queue.on_host()) return Decoder::working_bytes(engine.model(), rows, compute);
  return Decoder::device_working_bytes(engine.on_device(queue)->model(), rows, keys, compute);
}

const Queue& ModelRunner::queue() const { return state_->queue; }

void ModelRunner::decode(Sequence& sequence, int32_t token) {
  Sequence::State& s = sequence.state_->usable();
  s.check_decode(token);
  s.together([&](Sequence::State& each) {
    each.whole_or_nothing([&] {
      Decoder& decoder = state_->decoder(*each.engine, each.options.queue);
      const ForwardPass one = each.decoded(token);
      each.take_logits(decoder, decoder.forward(each.rows_of({&one, 1})));
      each.finish_pass(one);
    });
  });
}

void ModelRunner::decode(std::span<DecodeRow> batch, const std::function<void()>& before_choice) {
  State& s = *state_;
  s.before_choice = before_choice ? &before_choice : nullptr;
  s.running.clear();
  for (DecodeRow& row : batch) {
    row.failed = nullptr;
    try {
      if (s.queue.ranks() == 1) {
        row.sequence->state_->usable().check_decode(row.token);
        s.running.push_back(&row);
      } else {
        decode(*row.sequence, row.token);
        s.choose_on_host(row);
      }
    } catch (...) {
      row.failed = std::current_exception();
    }
  }
  for (std::span<DecodeRow*> left = s.running; !left.empty();) {
    const Engine& engine = left.front()->sequence->engine();
    const auto others = std::ranges::partition(
        left, [&](const DecodeRow* row) { return &row->sequence->engine() == &engine; });
    const size_t alike = left.size() - others.size();
    const auto now = left.first(std::min(alike, static_cast<size_t>(kMostRows)));
    s.decode_together(engine, now);
    left = left.subspan(now.size());
  }
}

/// Chooses from logits that lie on the host.
void ModelRunner::State::choose_on_host(DecodeRow& row) {
  if (row.best.empty()) return;
  if (before_choice != nullptr) (*before_choice)();
  std::vector<float>& logits = row.sequence->state_->logits;
  best_logits(host_queue(), {logits.data(), std::ssize(logits)}, {&row.rules, 1},
              static_cast<int>(row.best.size()), row.best, {&row.sums, 1});
  logits.clear();
}

/// Computes the logits of the rows, whose states begin at `states`.
void ModelRunner::State::take_logits(Decoder& decoder, std::span<DecodeRow* const> batch,
                                     const float* states) {
  const auto vocab = static_cast<size_t>(engine->model().config.vocab);
  wanted.clear();
  for (DecodeRow* row : batch) {
    std::vector<float>& own = row->sequence->state_->logits;
    own.resize(row->best.empty() ? vocab : 0);
    wanted.push_back({own.empty() ? nullptr : own.data(), row->best, row->rules, &row->sums});
  }
  decoder.logits(states, wanted);
}

void ModelRunner::State::decode_together(const Engine& of, std::span<DecodeRow* const> batch) {
  passes.clear();
  rows.clear();
  passes.reserve(batch.size());  // rows point to them
  for (DecodeRow* row : batch) {
    Sequence::State& sequence = *row->sequence->state_;
    passes.push_back(sequence.decoded(row->token));
    rows.push_back(sequence.rows_of({&passes.back(), 1}));
  }
  const int64_t hidden = engine->model().config.hidden;
  try {
    Decoder& decoder = this->decoder(of, queue);
    const float* states = decoder.forward(rows);
    if (before_choice != nullptr) (*before_choice)();
    const size_t at_once = queue.on_host() ? static_cast<size_t>(kMatvecMaxRows) : batch.size();
    for (size_t first = 0; first < batch.size(); first += at_once) {
      take_logits(decoder, batch.subspan(first, std::min(at_once, batch.size() - first)),
                  states + static_cast<int64_t>(first) * hidden);
    }
  } catch (...) {  // the error concerns the part that the rows share, so all of them failed
    for (SequenceRows& row : rows) row.failed = std::current_exception();
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    Sequence::State& sequence = *batch[i]->sequence->state_;
    try {
      sequence.whole_or_nothing([&] {
        if (rows[i].failed) std::rethrow_exception(rows[i].failed);
        if (!batch[i]->best.empty() && batch[i]->sums.not_finite > 0) refuse_damaged_weights();
        expect_finite_logits(sequence.logits);
        sequence.finish_pass(passes[i]);
      });
    } catch (...) {
      batch[i]->failed = std::current_exception();
    }
  }
}

}  // namespace longhaul
