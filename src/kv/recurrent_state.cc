#include "kv/recurrent_state.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/byte_stream.h"
#include "base/error.h"
#include "base/nth.h"

namespace longhaul {

RecurrentState::RecurrentState(const DeltaShape& shape, int layers, int64_t every)
    : layer_numbers_(shape.state()), layers_(layers), every_(every) {
  if (layers == 0) return;
  const auto numbers = static_cast<size_t>(layer_numbers_ * layers);
  now_.resize(numbers);
  next_.resize(numbers);
  pending_.resize(static_cast<size_t>(layers));
  aside_end_.assign(static_cast<size_t>(layers), -1);
}

float* RecurrentState::of_layer(std::vector<float>& all, int layer) {
  return all.data() + layer_numbers_ * layer;
}

RecurrentState::Step RecurrentState::advance(int layer, int64_t position, int64_t rows,
                                             bool discard) {
  uint8_t& pending = nth(pending_, layer);
  int64_t& aside_end = nth(aside_end_, layer);
  const float* const present = of_layer(pending != 0 ? next_ : now_, layer);
  if (discard) {
    aside_.resize(now_.size());
    float* const aside = of_layer(aside_, layer);
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
  stored_.push_back({tokens_, prompt_end, std::make_shared<const std::vector<float>>(now_)});
}

int64_t RecurrentState::rewind(int64_t tokens) {
  drop();
  if (tokens >= tokens_) return tokens_;
  std::erase_if(stored_, [&](const Stored& each) { return each.tokens > tokens; });
  if (stored_.empty()) {
    std::fill(now_.begin(), now_.end(), 0.0f);
    return tokens_ = 0;
  }
  now_ = *stored_.back().state;
  return tokens_ = stored_.back().tokens;
}

RecurrentState RecurrentState::clone() const {
  RecurrentState copy = *this;
  copy.drop();
  copy.aside_ = {};
  std::fill(copy.aside_end_.begin(), copy.aside_end_.end(), -1);
  return copy;
}

size_t RecurrentState::bytes() const {
  const size_t numbers = now_.size() * (2 + stored_.size()) + aside_.size();
  return numbers * sizeof(float);
}

size_t RecurrentState::own_bytes() const {
  size_t bytes = (2 * now_.size() + aside_.size()) * sizeof(float);
  for (const Stored& each : stored_) {
    if (each.state.use_count() == 1) bytes += each.state->size() * sizeof(float);
  }
  return bytes;
}

size_t RecurrentState::most_bytes_of(int64_t tokens) const {
  const int64_t stored = every_ > 0 && !empty() ? tokens / every_ + 1 : 0;
  return static_cast<size_t>(2 + stored) * now_.size() * sizeof(float);
}

void RecurrentState::save(ByteWriter& out) const {
  if (empty()) return;
  out.array(std::span<const float>(now_));
  out.number<uint64_t>(stored_.size());
  for (const Stored& each : stored_) {
    out.number(each.tokens);
    out.number<uint8_t>(each.prompt_end ? 1 : 0);
    out.array(std::span<const float>(*each.state));
  }
}

void RecurrentState::restore(ByteReader& in, int64_t tokens) {
  if (empty()) return;
  const auto read_state = [&] {
    std::vector<float> state = in.array<float>();
    if (state.size() == now_.size()) return state;
    user_error("{}: a recurrent state of {} numbers, the model's has {}", in.path().string(),
               state.size(), now_.size());
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
    each.state = std::make_shared<const std::vector<float>>(read_state());
    stored_.push_back(std::move(each));
  }
}

}  // namespace longhaul
