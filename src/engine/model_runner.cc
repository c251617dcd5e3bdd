#include "engine/model_runner.h"

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
  queue.device().ops().input(compute);  // refuses before the weights are copied
  return {engine.on_device(queue), compute};
}

}  // namespace

ModelRunner::State::State(std::shared_ptr<const Engine> e, const Queue& q, Compute compute)
    : engine(std::move(e)), queue(q) {
  if (queue.members() == 1) {
    decoders.push_back(make_decoder(*engine, queue, compute));
    return;
  }
  const std::shared_ptr<Crew> crew = crew_of(queue);
  std::vector<std::optional<Decoder>> made(static_cast<size_t>(queue.members()));
  rethrow_first(run_team(queue, *crew, [&](int member) {
    nth(made, member).emplace(make_decoder(*engine, Queue(queue.team(), member), compute));
  }));
  for (std::optional<Decoder>& decoder : made) decoders.push_back(std::move(*decoder));
}

ModelRunner::ModelRunner(std::shared_ptr<const Engine> engine, const Queue& queue, Compute compute)
    : state_(std::make_unique<State>(std::move(engine), queue, compute)) {}
ModelRunner::~ModelRunner() = default;
ModelRunner::ModelRunner(ModelRunner&&) noexcept = default;

const Queue& ModelRunner::queue() const { return state_->queue; }

void ModelRunner::decode(Sequence& sequence, int32_t token) {
  Sequence::State& s = sequence.state_->usable();
  s.engine->check_known({&token, 1});
  const int64_t limit = s.options.context;
  if (limit > 0 && std::ssize(s.tokens) >= limit) {
    user_error("--ctx {}: the context is full", limit);
  }
  s.together([&](Sequence::State& each) {
    each.whole_or_nothing([&] {
      Decoder& decoder = state_->decoder(each.options.queue);
      const ForwardPass one{.tokens = {&token, 1},
                            .position = std::ssize(each.tokens),
                            .pass = {.count = 1, .phase = Phase::kDecode}};
      each.take_logits(decoder, decoder.forward(each.rows_of({&one, 1})));
      each.finish_pass(one);
    });
  });
}

}  // namespace longhaul
