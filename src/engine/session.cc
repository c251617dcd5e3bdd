#include "engine/session.h"

#include <algorithm>
#include <optional>

#include "base/control_group.h"
#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "engine/session_state.h"
#include "kv/page_pool.h"

namespace longhaul {
namespace {

constexpr int kDefaultChunk = 1024;  // rows of a pass where nobody says
constexpr int kDeviceChunk = 8192;
constexpr int64_t kLogitRows = 128;               // rows whose logits exist at a time
constexpr int64_t kMostReply = int64_t{1} << 40;  // beyond any memory, and sums stay in range

Decoder make_decoder(const Engine& engine, const SessionOptions& o) {
  if (o.queue.on_host()) return {engine.model(), o.compute};
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

MemoryForecast Session::State::forecast(int64_t new_tokens, int64_t reply) const {
  const int64_t read = static_cast<int64_t>(tokens.size()) + new_tokens;
  const KvLayout& layout = store().layout();
  MemoryForecast f;
  const bool on_host = options.queue.on_host();
  f.weights = on_host ? engine->weight_bytes() : engine->on_device(options.queue)->bytes();
  if (method->keeps_replies()) {  // earlier ones too, until a prompt's first cut
    const size_t everything =
        layout.bytes_for(read + reply) * static_cast<size_t>(method->streams());
    f.kv = std::min(everything, method->most_kv_bytes(layout, read, chunk) +
                                    layout.bytes_for(reply) + store().bytes());
  } else {
    f.kv = method->most_kv_bytes(layout, read + reply, chunk);
  }
  if (on_host) f.kv = PagePool::most_bytes(layout.page_bytes(), f.kv);
  const int64_t rows = method->most_rows_of_pass({read - new_tokens, new_tokens, 0, chunk});
  f.working = (on_host ? Decoder::working_bytes(engine->model(), rows, options.compute)
                       : Decoder::device_working_bytes(engine->model(), rows)) +
              method->working_bytes(read, static_cast<int>(rows));
  if (on_host) f.process = engine->process_bytes();
  f.others = static_cast<size_t>(options.at_a_time - 1) * (f.kv + f.working);
  return f;
}

MemoryForecast Session::State::check_fits(int64_t new_tokens, int64_t reply) const {
  const int64_t total = static_cast<int64_t>(tokens.size()) + new_tokens;
  if (options.context > 0 && total > options.context) {
    user_error("--ctx {}: the context would hold {} tokens", options.context, total);
  }
  const int64_t room = options.context > 0 ? options.context - total : kMostReply;
  const int64_t written = std::clamp<int64_t>(reply, 0, std::min(room, kMostReply));
  std::string what = fmt::format("{} tokens", total);
  if (written > 0) what += fmt::format(" and a reply of up to {}", written);
  const MemoryForecast need = forecast(new_tokens, written);
  check_memory(need, what,
               fmt::format("a shorter text{}, --kv-type q8_0, a smaller --chunk or an attention "
                           "method that keeps less",
                           written > 0 ? " or reply" : ""));
  return need;
}

size_t Session::State::memory_limit() const {
  // What this process holds already is counted in forecasts as well.
  if (options.memory_limit == 0 && !options.queue.on_host()) {
    return options.queue.device().free_bytes() + engine->on_device(options.queue)->bytes() +
           store().bytes();
  }
  return options.memory_limit > 0 ? options.memory_limit
                                  : available_memory_bytes() + anonymous_resident_bytes();
}

void Session::State::check_memory(const MemoryForecast& need, const std::string& what,
                                  std::string_view advice) const {
  const size_t limit = memory_limit();
  if (need.total() <= limit) return;
  std::string parts = fmt::format("weights {}, KV {}, working memory {}, program and tokenizer {}",
                                  format_bytes(need.weights), format_bytes(need.kv),
                                  format_bytes(need.working), format_bytes(need.process));
  if (need.others > 0) parts += fmt::format(", beside it {}", format_bytes(need.others));
  // The machine may have much more than a group of processes in it may take.
  const bool grouped = control_group_room().value_or(limit + 1) <= limit;
  user_error("{} need {} ({}), more than {} {}; try {}", what, format_bytes(need.total()), parts,
             options.memory_limit > 0   ? "--memory-limit"
             : !options.queue.on_host() ? "the GPU's memory that is free,"
             : grouped                  ? "this process's control group leaves,"
                                        : "the memory that is free,",
             format_bytes(limit), advice);
}

bool Session::State::can_undo(const Pass& pass) const {
  if (streams.size() > 1 || pass.discard) return false;
  return tokens.empty() || method->can_rewind();
}

void Session::State::undo_pass() {
  if (tokens.empty()) {
    reset();
  } else {
    store().truncate(static_cast<int64_t>(tokens.size()));
  }
}

bool Session::State::run_pass(const ForwardPass& forward, const PrefillHooks& hooks) {
  const Pass& pass = forward.pass;
  const float* hidden = decoder.forward(forward, *method);
  if (hidden == nullptr) {
    undo_pass();
    return false;
  }
  const int64_t width = engine->model().config.hidden;
  const int64_t vocab = engine->model().config.vocab;
  if (!forward.last_state && !pass.discard) {
    for (int64_t r = 0; r < pass.count; r += kLogitRows) {
      const int64_t rows = std::min(kLogitRows, pass.count - r);
      rows_of_logits.resize(static_cast<size_t>(rows * vocab));
      decoder.logits(hidden + r * width, rows, rows_of_logits.data());
      hooks.all_logits(pass.begin + r, rows, rows_of_logits.data());
    }
  }
  if (pass.last) {
    logits.resize(static_cast<size_t>(vocab));
    decoder.logits(hidden + (forward.last_state ? 0 : pass.count - 1) * width, 1, logits.data());
  }
  method->retain(streams, pass);
  if (!pass.discard) tokens.insert(tokens.end(), forward.tokens.begin(), forward.tokens.end());
  return true;
}

/// What a pass that discards leaves behind is of use only together with the pass that keeps what
/// was read next: a prompt is not cancelled between the two.
bool Session::State::run_passes(std::span<const int32_t> prompt, int64_t begin,
                                std::span<const Pass> passes, const PrefillHooks& hooks) {
  const auto total = static_cast<int64_t>(prompt.size());
  const int layers = engine->model().config.layers;
  std::optional<KvStore> copy;
  Pass before;
  for (size_t i = 0; i < passes.size(); ++i) {
    const Pass& pass = passes[i];
    if (requested(hooks.cancel) && !before.discard) return false;
    const bool reads_on = before.discard && pass.discard && before.stream == pass.stream &&
                          before.begin + before.count == pass.begin;
    if (!reads_on) copy.reset();
    KvStore& stream = streams[static_cast<size_t>(pass.stream)];
    if (pass.discard && !copy) copy = stream.fork();
    const auto part =
        prompt.subspan(static_cast<size_t>(pass.begin), static_cast<size_t>(pass.count));
    const auto tell = [&](int done) {
      if (pass.discard) return;
      if (hooks.pass_progress) {
        hooks.pass_progress(pass.begin, pass.count, static_cast<double>(done) / layers);
      }
      if (hooks.progress) hooks.progress(pass.begin + pass.count * done / layers, total);
    };
    const auto go_on = [&](int done) {
      tell(done);
      return !requested(hooks.cancel) || before.discard || !can_undo(pass);
    };
    const ForwardPass forward{.tokens = part,
                              .position = begin + pass.begin,
                              .pass = pass,
                              .store = pass.discard ? &*copy : &stream,
                              .streams = streams,
                              .go_on = go_on,
                              .last_state = !hooks.all_logits};
    if (!run_pass(forward, hooks)) return false;
    tell(layers);
    before = pass;
  }
  return true;
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

bool Session::prefill(std::span<const int32_t> tokens, const PrefillHooks& hooks) {
  State& s = state_->usable();
  if (tokens.empty()) user_error("the prompt is empty");
  s.engine->check_known(tokens);
  const int64_t begin = static_cast<int64_t>(s.tokens.size());
  const int64_t count = static_cast<int64_t>(tokens.size());
  s.forecast_of_prompt = s.check_fits(count, hooks.reply);
  const int64_t instruction = std::clamp<int64_t>(hooks.instruction, 0, count);
  const std::vector<Pass> passes =
      s.method->prepare({begin, count, instruction, s.chunk, hooks.evidence});
  s.set_angles(begin + count);
  return s.whole_or_nothing([&] {
    s.logits.clear();  // of a reading that is cancelled there are none
    s.drop_other_streams();
    for (int i = 1; i < s.method->streams(); ++i) s.streams.push_back(s.store().fork());
    const bool finished = s.run_passes(tokens, begin, passes, hooks);
    s.drop_other_streams();
    return finished;
  });
}

void Session::decode(int32_t token) {
  State& s = state_->usable();
  s.engine->check_known({&token, 1});
  const int64_t limit = s.options.context;
  if (limit > 0 && static_cast<int64_t>(s.tokens.size()) >= limit) {
    user_error("--ctx {}: the context is full", limit);
  }
  s.whole_or_nothing([&] {
    const Pass pass{.count = 1, .phase = Phase::kDecode};
    const float* hidden = s.decoder.forward({.tokens = {&token, 1},
                                             .position = static_cast<int64_t>(s.tokens.size()),
                                             .pass = pass,
                                             .store = &s.store(),
                                             .streams = s.streams},
                                            *s.method);
    s.logits.resize(static_cast<size_t>(s.engine->model().config.vocab));
    s.decoder.logits(hidden, 1, s.logits.data());
    s.method->retain(s.streams, pass);
    s.tokens.push_back(token);
    return true;
  });
}

int64_t Session::reuse_prefix(std::span<const int32_t> tokens) {
  State& s = state_->usable();
  const auto [mine, theirs] =
      std::mismatch(s.tokens.begin(), s.tokens.end(), tokens.begin(), tokens.end());
  int64_t shared = mine - s.tokens.begin();
  const int64_t held = static_cast<int64_t>(s.tokens.size());
  const int64_t wanted = static_cast<int64_t>(tokens.size());
  const RopeSpec& rope = s.engine->model().config.rope;
  if (!rope.same_angles(s.angles_length, wanted)) {  // keys are kept rotated
    s.reset();
    return 0;
  }
  if (shared == held && (shared < wanted || !s.logits.empty())) return shared;  // goes on as it is
  shared = std::min(shared, wanted - 1);
  if (shared <= 0 || !s.method->can_rewind()) {
    s.reset();
    return 0;
  }
  s.store().truncate(shared);
  s.tokens.resize(static_cast<size_t>(shared));
  s.logits.clear();
  return shared;
}

SessionReport Session::report() const {
  const State& s = *state_;
  const LayerStep::Workspace& work = s.decoder.workspace();
  SessionReport r;
  r.tokens = static_cast<int64_t>(s.tokens.size());
  r.live_rows = s.store().live_rows();
  r.kv_bytes = s.store().bytes() + s.method->index_bytes();
  Queue queue = s.options.queue;
  const int64_t pairs = work.all_pairs(queue) + s.taken_pairs;
  const int64_t dense_pairs = work.dense_pairs + s.taken_pairs;
  r.pairs_share =
      dense_pairs > 0 ? static_cast<double>(pairs) / static_cast<double>(dense_pairs) : 1.0;
  r.forecast = s.forecast_of_prompt;
  r.attention_seconds = work.seconds + s.taken_seconds;
  return r;
}

}  // namespace longhaul
