#include "engine/session.h"

#include <algorithm>

#include "base/error.h"
#include "engine/session_state.h"

namespace longhaul {
namespace {

constexpr int kDefaultChunk = 1024;  // rows of a pass where nobody says
constexpr int kDeviceChunk = 8192;

Decoder make_decoder(const Engine& engine, const SessionOptions& o) {
  if (o.queue.on_host()) {
    if (o.compute == Compute::kFp8) {
      user_error("--compute fp8: only GPUs multiply 8-bit floats");
    }
    return {engine.model(), o.compute};
  }
  o.queue.device().ops().input(o.compute);  // refuses before the weights travel
  return {engine.on_device(o.queue), o.compute};
}

}  // namespace

int chunk_of(int asked, const AttentionDriver& method, const Queue& queue) {
  const int usual = queue.on_host() ? kDefaultChunk : kDeviceChunk;
  return asked > 0 ? asked : std::max(usual, method.preferred_chunk());
}

Session::State::State(std::shared_ptr<const Engine> e, const SessionOptions& o)
    : engine(std::move(e)), options(o), decoder(make_decoder(*engine, o)) {
  options.attention = o.attention.for_model(decoder.shape());
  reset();
  if (options.queue.members() > 1 && leads()) call_mates();
}

void Session::State::reset() {
  tokens.clear();
  logits.clear();
  to_be_reset = true;  // until a method is made, which reads files and may fail
  method = options.attention.make(decoder.shape());
  chunk = chunk_of(options.chunk, *method, options.queue);
  streams.clear();
  streams.push_back(make_store(*method));
  to_be_reset = false;
}

void Session::State::set_angles(int64_t tokens_in_all) {
  angles_length = tokens_in_all;
  decoder.set_context_length(tokens_in_all);
}

KvStore Session::State::make_store(const AttentionDriver& for_method) const {
  return {for_method.layout(decoder.shape(), options.kv_type), options.queue};
}

Session::Session(std::shared_ptr<const Engine> engine, const SessionOptions& options)
    : state_(std::make_unique<State>(std::move(engine), options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

const Engine& Session::engine() const { return *state_->engine; }
const SessionOptions& Session::options() const { return state_->options; }
std::span<const int32_t> Session::tokens() const { return state_->tokens; }
std::span<const float> Session::logits() const { return state_->logits; }
const KvStore& Session::store() const { return state_->store(); }
void Session::observe(AttentionObserver observer) { state_->decoder.observe(std::move(observer)); }
MemoryForecast Session::forecast(int64_t tokens) const { return state_->forecast(tokens); }

void Session::check_room(int64_t tokens, int64_t reply) const { state_->check_fits(tokens, reply); }

bool Session::has_room(int64_t tokens, int64_t reply, size_t others) const {
  const State& s = *state_;
  const size_t elsewhere = others * static_cast<size_t>(s.options.at_a_time);
  return s.forecast(tokens, reply).total() + elsewhere <= s.memory_limit();
}

bool Session::State::read(std::span<const int32_t> text, const PrefillHooks& hooks) {
  const int64_t begin = static_cast<int64_t>(tokens.size());
  const int64_t count = static_cast<int64_t>(text.size());
  const int64_t instruction = std::clamp<int64_t>(hooks.instruction, 0, count);
  std::vector<Pass> passes;
  all_agree([&] {
    forecast_of_prompt = check_fits(count, hooks.reply);
    passes = method->prepare({begin, count, instruction, chunk, hooks.evidence});
  });
  set_angles(begin + count);
  return whole_or_nothing([&] {
    logits.clear();  // of a reading that is cancelled there are none
    drop_other_streams();
    for (int i = 1; i < method->streams(); ++i) streams.push_back(store().fork());
    const bool finished = run_passes(text, begin, passes, hooks);
    drop_other_streams();
    return finished;
  });
}

bool Session::prefill(std::span<const int32_t> tokens, const PrefillHooks& hooks) {
  State& s = state_->usable();
  if (tokens.empty()) user_error("the prompt is empty");
  s.engine->check_known(tokens);
  bool finished = false;
  s.together([&](State& each) {
    const bool all = each.read(tokens, hooks);
    if (each.leads()) finished = all;
  });
  return finished;
}

void Session::State::read_generated(int32_t token) {
  whole_or_nothing([&] {
    const ForwardPass one{.tokens = {&token, 1},
                          .position = static_cast<int64_t>(tokens.size()),
                          .pass = {.count = 1, .phase = Phase::kDecode}};
    take_logits(decoder.forward({.passes = {&one, 1}, .streams = streams}, *method));
    follow_up(one);
    return true;
  });
}

void Session::decode(int32_t token) {
  State& s = state_->usable();
  s.engine->check_known({&token, 1});
  const int64_t limit = s.options.context;
  if (limit > 0 && static_cast<int64_t>(s.tokens.size()) >= limit) {
    user_error("--ctx {}: the context is full", limit);
  }
  s.together([&](State& each) { each.read_generated(token); });
}

int64_t Session::State::keep_prefix(std::span<const int32_t> text) {
  const auto [mine, theirs] = std::mismatch(tokens.begin(), tokens.end(), text.begin(), text.end());
  int64_t shared = mine - tokens.begin();
  const int64_t held = static_cast<int64_t>(tokens.size());
  const int64_t wanted = static_cast<int64_t>(text.size());
  const RopeSpec& rope = engine->model().config.rope;
  if (!rope.same_angles(angles_length, wanted)) {  // keys are kept rotated
    reset();
    return 0;
  }
  if (shared == held && (shared < wanted || !logits.empty())) return shared;  // goes on as it is
  shared = std::min(shared, wanted - 1);
  if (shared <= 0 || !can_rewind()) {
    reset();
    return 0;
  }
  store().truncate(shared);
  tokens.resize(static_cast<size_t>(shared));
  logits.clear();
  return shared;
}

int64_t Session::reuse_prefix(std::span<const int32_t> tokens) {
  int64_t kept = 0;
  state_->usable().together([&](State& each) {
    const int64_t here = each.keep_prefix(tokens);
    if (each.leads()) kept = here;
  });
  return kept;
}

SessionReport Session::report() const {
  const State& s = *state_;
  const LayerStep::Workspace& work = s.decoder.workspace();
  SessionReport r;
  r.tokens = static_cast<int64_t>(s.tokens.size());
  int64_t pairs = 0, dense_pairs = 0;
  s.for_each([&](const State& each) {
    const LayerStep::Workspace& worked = each.decoder.workspace();
    Queue queue = each.options.queue;
    r.live_rows += each.store().live_rows();
    r.kv_bytes += each.store().bytes() + each.method->index_bytes();
    pairs += worked.all_pairs(queue) + each.taken_pairs;
    dense_pairs += worked.dense_pairs + each.taken_pairs;
  });
  r.pairs_share =
      dense_pairs > 0 ? static_cast<double>(pairs) / static_cast<double>(dense_pairs) : 1.0;
  r.forecast = s.forecast_of_prompt;
  r.attention_seconds = work.seconds + s.taken_seconds;
  return r;
}

}  // namespace longhaul
