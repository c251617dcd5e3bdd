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
  // Throws if the device does not support `compute`, before the weights are copied.
  queue.device().ops().input(compute);
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

ModelRunner::ModelRunner(std::shared_ptr<const Engine> engine, const Queue& queue, Compute compute,
                         int64_t most_rows)
    : state_(std::make_unique<State>(std::move(engine), queue, compute)) {
  state_->most_rows = static_cast<size_t>(most_rows);
}
ModelRunner::~ModelRunner() = default;
ModelRunner::ModelRunner(ModelRunner&&) noexcept = default;

int64_t ModelRunner::most_rows(const Queue& queue, int64_t sequences) {
  if (queue.on_host()) return kMostRows;
  return std::clamp(sequences, kMostRows, Decoder::kMostBatchRows);
}

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

void ModelRunner::begin_decode(std::span<DecodeRow> batch,
                               const std::function<void()>& before_choice) {
  State& s = *state_;
  LH_ASSERT(s.begun == 0);
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
    const auto now = left.first(std::min(alike, s.most_rows));
    if (s.begun == s.batches.size()) s.batches.push_back(std::make_unique<State::Batch>());
    s.begin(engine, now, *s.batches[s.begun++]);
    left = left.subspan(now.size());
  }
}

void ModelRunner::end_decode() {
  State& s = *state_;
  for (size_t i = 0; i < s.begun; ++i) s.end(*s.batches[i]);
  s.begun = 0;
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

void ModelRunner::State::begin_logits(Decoder& decoder, const float* states, Batch& batch) {
  const auto vocab = static_cast<size_t>(engine->model().config.vocab);
  const int64_t hidden = engine->model().config.hidden;
  batch.wanted.clear();
  for (DecodeRow* row : batch.members) {
    std::vector<float>& own = row->sequence->state_->logits;
    own.resize(row->best.empty() ? vocab : 0);
    batch.wanted.push_back({own.empty() ? nullptr : own.data(), row->best, row->rules, &row->sums});
  }
  batch.chooses = &decoder;
  for_each_part(batch, [&](std::span<const WantedLogits> wanted, size_t part) {
    if (part == batch.chosen.size()) batch.chosen.emplace_back();
    decoder.begin_logits(states, wanted, batch.chosen[part]);
    states += std::ssize(wanted) * hidden;
  });
}

/// Calls work(wanted, part) for parts of the batch's rows whose logits are computed together.
template <class Work>
void ModelRunner::State::for_each_part(const Batch& batch, Work&& work) const {
  const size_t most = queue.on_host() ? static_cast<size_t>(kMatvecMaxRows)
                                      : static_cast<size_t>(DeviceInput::kMostDecodeRows);
  std::span<const WantedLogits> left = batch.wanted;
  for (size_t part = 0; !left.empty(); ++part) {
    const auto wanted = left.first(std::min(most, left.size()));
    work(wanted, part);
    left = left.subspan(wanted.size());
  }
}

void ModelRunner::State::begin(const Engine& of, std::span<DecodeRow* const> members,
                               Batch& batch) {
  batch.members = members;
  batch.chooses = nullptr;
  batch.passes.clear();
  batch.rows.clear();
  batch.passes.reserve(members.size());  // rows point to them
  for (DecodeRow* row : members) {
    Sequence::State& sequence = *row->sequence->state_;
    batch.passes.push_back(sequence.decoded(row->token));
    batch.rows.push_back(sequence.rows_of({&batch.passes.back(), 1}));
  }
  try {
    Decoder& decoder = this->decoder(of, queue);
    const float* const states = decoder.forward(batch.rows);
    if (before_choice != nullptr) (*before_choice)();
    begin_logits(decoder, states, batch);
  } catch (...) {  // the error concerns the part that the rows share, so all of them failed
    batch.chooses = nullptr;
    for (SequenceRows& row : batch.rows) row.failed = std::current_exception();
    end_all_downloads();
  }
}

/// Copies that have begun write to memory of their batch, which the next step reuses.
void ModelRunner::State::end_all_downloads() {
  if (queue.on_host()) return;
  try {
    end_best_logits(queue, queue.device().record_event());
  } catch (...) {  // a lost device copies nothing
  }
}

void ModelRunner::State::end(Batch& batch) {
  try {
    if (batch.chooses != nullptr) {
      for_each_part(batch, [&](std::span<const WantedLogits> wanted, size_t part) {
        batch.chooses->end_logits(wanted, batch.chosen[part]);
      });
    }
  } catch (...) {
    for (SequenceRows& row : batch.rows) row.failed = std::current_exception();
  }
  for (size_t i = 0; i < batch.members.size(); ++i) {
    DecodeRow& member = *batch.members[i];
    Sequence::State& sequence = *member.sequence->state_;
    try {
      sequence.whole_or_nothing([&] {
        if (batch.rows[i].failed) std::rethrow_exception(batch.rows[i].failed);
        if (!member.best.empty() && member.sums.not_finite > 0) refuse_damaged_weights();
        expect_finite_logits(sequence.logits);
        sequence.finish_pass(batch.passes[i]);
      });
    } catch (...) {
      member.failed = std::current_exception();
    }
  }
}

}  // namespace longhaul
