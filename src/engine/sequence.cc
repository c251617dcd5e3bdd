#include "engine/sequence.h"

#include <algorithm>

#include "base/error.h"
#include "engine/sequence_state.h"

namespace longhaul {
namespace {

constexpr int kDefaultChunk = 1024;  // tokens that are computed together on the host
constexpr int kDeviceChunk = 8192;

ModelShape shape_on(const Engine& engine, const Queue& queue) {
  return queue.on_host() ? engine.model().shape : engine.on_device(queue)->shape();
}

}  // namespace

int chunk_of(int asked, const AttentionDriver& method, const Queue& queue) {
  const int usual = queue.on_host() ? kDefaultChunk : kDeviceChunk;
  return asked > 0 ? asked : std::max(usual, method.preferred_chunk());
}

Sequence::State::State(std::shared_ptr<const Engine> e, const SessionOptions& o)
    : engine(std::move(e)), options(o), shape(shape_on(*engine, o.queue)) {
  options.attention = o.attention.for_model(shape);
  reset();
  if (options.queue.ranks() == 1 || !is_root()) return;
  workers = crew_of(options.queue);
  peers.resize(static_cast<size_t>(options.queue.ranks()) - 1);
  run_workers([&](int member) {
    if (member == 0) return;
    SessionOptions own = options;
    own.queue = Queue(options.queue.communicator(), member);
    nth(peers, member - 1) = std::make_unique<State>(engine, own);
  });
}

void Sequence::State::reset() {
  tokens.clear();
  logits.clear();
  to_be_reset = true;  // stays true if creating the method throws
  method = options.attention.make(shape);
  chunk = chunk_of(options.chunk, *method, options.queue);
  streams.clear();
  streams.push_back(make_store(*method));
  recurrent = make_recurrent();
  to_be_reset = false;
}

void Sequence::State::set_angles(int64_t tokens_in_all) {
  angles_length = tokens_in_all;
  set_context_length(engine->model(), tokens_in_all, shape);
}

KvStore Sequence::State::make_store(const AttentionDriver& for_method) const {
  return {for_method.layout(shape, options.kv_type), options.queue};
}

RecurrentState Sequence::State::make_recurrent() const {
  const ModelConfig& c = engine->model().config;
  return {c.layer_state(), c.recurrent_layers(), options.state_every, options.queue};
}

void Sequence::State::finish_pass(const ForwardPass& forward) {
  method->finish(streams, forward.pass);
  recurrent.commit();
  if (forward.pass.discard) return;
  tokens.insert(tokens.end(), forward.tokens.begin(), forward.tokens.end());
  if (forward.pass.last) recurrent.end_prompt();
}

void Sequence::State::check_decode(int32_t token) const {
  engine->check_known({&token, 1});
  const int64_t limit = options.context;
  if (limit > 0 && std::ssize(tokens) >= limit) {
    user_error("--ctx {}: the context is full", limit);
  }
}

/// Creates the method again and restores its state from an archive in memory. The copy also
/// contains the statistics of attention so far.
std::unique_ptr<Sequence::State> Sequence::State::clone() const {
  auto copy = std::make_unique<State>(engine, options);
  if (to_be_reset) return copy;
  const auto fill = [&](State& to) {
    const State& from = of_member(to.options.queue.rank());
    ByteWriter out;
    from.method->save(out);
    ByteReader in(out.take());
    to.method->restore(in);
    LH_ASSERT(in.remaining() == 0);
    to.streams.front() = from.store().fork();
    to.recurrent = from.recurrent.clone();
    to.tokens = from.tokens;
    to.logits = from.logits;
    to.set_angles(from.angles_length);
    Queue queue = from.options.queue;
    to.record.take_counts(queue, from.record);
    to.taken_pairs = from.taken_pairs;
    to.taken_seconds = from.taken_seconds;
  };
  copy->together(fill);
  copy->forecast_of_prompt = forecast_of_prompt;
  return copy;
}

int64_t Sequence::State::keep_prefix(std::span<const int32_t> text) {
  const auto [mine, theirs] = std::mismatch(tokens.begin(), tokens.end(), text.begin(), text.end());
  int64_t shared = mine - tokens.begin();
  const int64_t held = static_cast<int64_t>(tokens.size());
  const int64_t wanted = static_cast<int64_t>(text.size());
  const RopeSpec& rope = engine->model().config.rope;
  // Stored keys have been rotated with other angles.
  if (!rope.same_angles(angles_length, wanted)) {
    reset();
    return 0;
  }
  if (shared == held && (shared < wanted || !logits.empty())) return shared;  // nothing to remove
  shared = std::min(shared, wanted - 1);
  if (shared > 0 && can_rewind() && !recurrent.empty()) shared = recurrent.rewind(shared);
  if (shared <= 0 || !can_rewind()) {
    reset();
    return 0;
  }
  store().truncate(shared);
  tokens.resize(static_cast<size_t>(shared));
  logits.clear();
  return shared;
}

Sequence::Sequence(std::shared_ptr<const Engine> engine, const SessionOptions& options)
    : state_(std::make_unique<State>(std::move(engine), options)) {}
Sequence::Sequence(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sequence::~Sequence() = default;
Sequence::Sequence(Sequence&&) noexcept = default;
Sequence& Sequence::operator=(Sequence&&) noexcept = default;

Sequence Sequence::clone() const { return Sequence(state_->clone()); }
const Engine& Sequence::engine() const { return *state_->engine; }
const SessionOptions& Sequence::options() const { return state_->options; }
int Sequence::chunk() const { return state_->chunk; }
const AttentionDriver& Sequence::method() const { return *state_->method; }
std::span<const int32_t> Sequence::tokens() const { return state_->tokens; }
std::span<const float> Sequence::logits() const { return state_->logits; }
const KvStore& Sequence::store() const { return state_->store(); }
void Sequence::observe(AttentionObserver observer) {
  state_->record.observer = std::move(observer);
}

size_t Sequence::kv_forecast(int64_t tokens, int64_t reply) const {
  size_t bytes = 0;
  state_->for_each([&](const State& each) { bytes += each.kv_forecast(tokens, reply); });
  return bytes;
}

size_t Sequence::own_bytes() const {
  size_t bytes = 0;
  state_->for_each([&](const State& each) {
    for (const KvStore& stream : each.streams) bytes += stream.own_bytes();
    bytes += each.method->index_bytes() + each.recurrent.own_bytes();
  });
  return bytes;
}

MemoryForecast Sequence::forecast(int64_t tokens, int64_t reply) const {
  return state_->forecast(tokens, reply);
}

void Sequence::check_room(int64_t tokens, int64_t reply) const {
  state_->check_fits(tokens, reply);
}

bool Sequence::has_room(int64_t tokens, int64_t reply, size_t others) const {
  const State& s = *state_;
  const size_t elsewhere = others * static_cast<size_t>(s.options.at_a_time);
  return s.forecast(tokens, reply).total() + elsewhere <= s.memory_limit();
}

size_t Sequence::memory_limit() const { return state_->memory_limit(); }

void Sequence::unshare_pages() {
  state_->together([](State& each) { each.store().unshare(); });
}

void Sequence::reset() {
  state_->together([](State& each) { each.reset(); });
}

int64_t Sequence::reuse_prefix(std::span<const int32_t> tokens) {
  int64_t kept = 0;
  state_->usable().together([&](State& each) {
    const int64_t here = each.keep_prefix(tokens);
    if (each.is_root()) kept = here;
  });
  return kept;
}

void Sequence::truncate(int64_t length) {
  state_->usable().together([&](State& each) {
    LH_ASSERT(length >= 0 && length <= std::ssize(each.tokens));
    if (length == std::ssize(each.tokens)) return;
    LH_ASSERT(each.can_rewind() && each.recurrent.empty());
    each.store().truncate(length);
    each.tokens.resize(static_cast<size_t>(length));
    each.logits.clear();
  });
}

void Sequence::drop_logits() {
  state_->logits = {};
  for (const auto& mate : state_->peers) mate->logits = {};
}

size_t Sequence::kv_bytes() const {
  size_t bytes = 0;
  state_->for_each([&](const State& each) {
    bytes += each.store().bytes() + each.method->index_bytes() + each.recurrent.bytes();
  });
  return bytes;
}

double Sequence::pairs_share() const {
  int64_t pairs = 0, dense_pairs = 0;
  state_->for_each([&](const State& each) {
    Queue queue = each.options.queue;
    pairs += each.record.all_pairs(queue) + each.taken_pairs;
    dense_pairs += each.record.dense_pairs + each.taken_pairs;
  });
  return dense_pairs > 0 ? static_cast<double>(pairs) / static_cast<double>(dense_pairs) : 1.0;
}

double Sequence::attention_seconds() const {
  return state_->record.seconds + state_->taken_seconds;
}

SessionReport Sequence::report() const {
  const State& s = *state_;
  SessionReport r;
  r.tokens = static_cast<int64_t>(s.tokens.size());
  s.for_each([&](const State& each) { r.live_rows += each.store().live_rows(); });
  r.kv_bytes = kv_bytes();
  r.pairs_share = pairs_share();
  r.forecast = s.forecast_of_prompt;
  r.attention_seconds = attention_seconds();
  return r;
}

}  // namespace longhaul
