#include "kv/recurrent_state.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "base/nth.h"
#include "ops/core/fill.h"

namespace longhaul {

RecurrentState::RecurrentState(int64_t layer_numbers, int layers, int64_t every, const Queue& queue)
    : queue_(queue), layer_numbers_(layer_numbers), layers_(layers), every_(every) {
  if (layers == 0) return;
  now_ = {queue_, layer_numbers_ * layers};
  next_ = {queue_, now_.size()};
  fill(queue_, now_.view(), 0);
  pending_.resize(static_cast<size_t>(layers));
  aside_end_.assign(static_cast<size_t>(layers), -1);
}

View<float> RecurrentState::of_layer(const StateNumbers& all, int layer) const {
  return all.view().part(layer_numbers_ * layer, layer_numbers_);
}

StateNumbers RecurrentState::copy_of(const StateNumbers& state) const {
  StateNumbers same(queue_, state.size());
  Queue queue = queue_;
  copy(queue, state.view(), same.view());
  return same;
}

std::vector<float> RecurrentState::on_host(const StateNumbers& state) const {
  std::vector<float> numbers(static_cast<size_t>(state.size()));
  Queue queue = queue_;
  copy(queue, state.view(), std::span(numbers));
  return numbers;
}

RecurrentState::Step RecurrentState::advance(int layer, int64_t position, int64_t rows,
                                             bool discard) {
  uint8_t& pending = nth(pending_, layer);
  int64_t& aside_end = nth(aside_end_, layer);
  const View<float> present = of_layer(pending != 0 ? next_ : now_, layer);
  if (discard) {
    if (aside_.size() == 0) aside_ = {queue_, now_.size()};
    const View<float> aside = of_layer(aside_, layer);
    const bool continues = aside_end == position;
    aside_end = position + rows;
    return {continues ? aside : present, aside};
  }
  aside_end = -1;
  pending = 1;
  pending_tokens_ = position + rows;
  return {present, of_layer(next_, layer)};
}

void RecurrentState::commit() {
  if (empty() || pending_.front() == 0) return;
  now_.swap(next_);
  drop();
  const int64_t before = std::exchange(tokens_, pending_tokens_);
  if (every_ > 0 && before / every_ < tokens_ / every_) store(false);
}

void RecurrentState::end_prompt() {
  if (empty() || every_ == 0) return;
  std::erase_if(stored_, [](const Stored& each) { return each.prompt_end; });
  if (stored_.empty() || stored_.back().tokens != tokens_) store(true);
}

void RecurrentState::store(bool prompt_end) {
  stored_.push_back({tokens_, prompt_end, std::make_shared<const StateNumbers>(copy_of(now_))});
}

int64_t RecurrentState::rewind(int64_t tokens) {
  drop();
  if (tokens >= tokens_) return tokens_;
  std::erase_if(stored_, [&](const Stored& each) { return each.tokens > tokens; });
  if (stored_.empty()) {
    fill(queue_, now_.view(), 0);
    return tokens_ = 0;
  }
  copy(queue_, stored_.back().state->view(), now_.view());
  return tokens_ = stored_.back().tokens;
}

RecurrentState RecurrentState::clone() const {
  RecurrentState same;
  if (empty()) return same;
  same.queue_ = queue_;
  same.layer_numbers_ = layer_numbers_;
  same.layers_ = layers_;
  same.every_ = every_;
  same.tokens_ = tokens_;
  same.now_ = copy_of(now_);
  same.next_ = {queue_, now_.size()};
  same.pending_.resize(pending_.size());
  same.aside_end_.assign(aside_end_.size(), -1);
  same.stored_ = stored_;
  return same;
}

RecurrentState RecurrentState::elsewhere(const Queue& queue, const RecurrentState* twin_here,
                                         const RecurrentState* twin_there,
                                         const AddCopy& add) const {
  if (empty()) return {};
  RecurrentState same(layer_numbers_, layers_, every_, queue);
  const auto copied = [&](const StateNumbers& from) {
    StateNumbers to(queue, from.size());
    add(from.view().address(), to.view().address(), from.bytes());
    return to;
  };
  same.tokens_ = tokens_;
  add(now_.view().address(), same.now_.view().address(), now_.bytes());
  for (size_t i = 0; i < stored_.size(); ++i) {
    const bool twin = twin_here != nullptr && twin_there != nullptr &&
                      i < twin_here->stored_.size() && i < twin_there->stored_.size() &&
                      twin_here->stored_[i].state == stored_[i].state;
    Stored each{stored_[i].tokens, stored_[i].prompt_end, nullptr};
    each.state = twin ? twin_there->stored_[i].state
                      : std::make_shared<const StateNumbers>(copied(*stored_[i].state));
    same.stored_.push_back(std::move(each));
  }
  return same;
}

size_t RecurrentState::bytes() const {
  return now_.bytes() * (2 + stored_.size()) + aside_.bytes();
}

size_t RecurrentState::own_bytes() const {
  size_t bytes = 2 * now_.bytes() + aside_.bytes();
  for (const Stored& each : stored_) {
    if (each.state.use_count() == 1) bytes += each.state->bytes();
  }
  return bytes;
}

size_t RecurrentState::most_bytes_of(int64_t tokens) const {
  const int64_t stored = every_ > 0 && !empty() ? tokens / every_ + 1 : 0;
  return static_cast<size_t>(2 + stored) * now_.bytes();
}

void RecurrentState::save(ByteWriter& out) const {
  if (empty()) return;
  out.array(std::span<const float>(on_host(now_)));
  out.number<uint64_t>(stored_.size());
  for (const Stored& each : stored_) {
    out.number(each.tokens);
    out.number<uint8_t>(each.prompt_end ? 1 : 0);
    out.array(std::span<const float>(on_host(*each.state)));
  }
}

void RecurrentState::restore(ByteReader& in, int64_t tokens) {
  if (empty()) return;
  const auto read_state = [&] {
    const std::vector<float> numbers = in.array<float>();
    if (std::ssize(numbers) != now_.size()) {
      user_error("{}: a recurrent state of {} numbers, the model's has {}", in.path().string(),
                 numbers.size(), now_.size());
    }
    StateNumbers state(queue_, now_.size());
    copy(queue_, std::span(numbers), state.view());
    return state;
  };
  now_ = read_state();
  tokens_ = tokens;
  stored_.clear();
  const auto count = in.number<uint64_t>();
  for (uint64_t i = 0; i < count; ++i) {
    Stored each;
    each.tokens = in.number<int64_t>();
    each.prompt_end = in.number<uint8_t>() != 0;
    const int64_t before = stored_.empty() ? 0 : stored_.back().tokens;
    if (each.tokens <= before || each.tokens > tokens) {
      user_error("{}: a recurrent state of {} tokens after one of {}, in a context of {}",
                 in.path().string(), each.tokens, before, tokens);
    }
    each.state = std::make_shared<const StateNumbers>(read_state());
    stored_.push_back(std::move(each));
  }
}

}  // namespace longhaul
