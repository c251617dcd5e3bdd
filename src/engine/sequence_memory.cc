// The memory forecast of a sequence on one device, and the check that a prompt fits in memory.

#include <algorithm>

#include "base/control_group.h"
#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "engine/model_runner.h"
#include "engine/sequence_state.h"
#include "kv/page_pool.h"

namespace longhaul {
namespace {

constexpr int64_t kMostReply = int64_t{1} << 40;  // more tokens than fit in any memory

}  // namespace

size_t Sequence::State::kv_forecast(int64_t new_tokens, int64_t reply) const {
  const int64_t read = std::ssize(tokens) + new_tokens;
  const KvLayout& layout = store().layout();
  size_t bytes = 0;
  // Replies to earlier prompts stay until the first eviction of the next prompt.
  if (method->keeps_replies()) {
    const size_t everything =
        layout.bytes_for(read + reply) * static_cast<size_t>(method->streams());
    bytes = std::min(everything, method->most_kv_bytes(layout, read, chunk) +
                                     layout.bytes_for(reply) + store().bytes());
  } else {
    bytes = method->most_kv_bytes(layout, read + reply, chunk);
  }
  const size_t states = recurrent.most_bytes_of(read + reply);
  if (options.queue.on_host()) return PagePool::most_bytes(layout.page_bytes(), bytes) + states;
  // An eviction copies the kept rows of a layer before it frees the old pages.
  if (method->forgets()) bytes += bytes / static_cast<size_t>(engine->model().config.layers);
  return bytes + states;
}

MemoryForecast Sequence::State::forecast(int64_t new_tokens, int64_t reply) const {
  const int64_t read = std::ssize(tokens) + new_tokens;
  const bool on_host = options.queue.on_host();
  MemoryForecast f;
  f.weights = on_host ? engine->weight_bytes() : engine->on_device(options.queue)->bytes();
  f.kv = kv_forecast(new_tokens, reply);
  const PromptFacts prompt{read - new_tokens, new_tokens, 0, chunk};
  // The number of keys per KV head: all tokens, or the largest number that fits in the forecast KV
  // memory.
  const size_t row = std::max<size_t>(1, store().layout().row_bytes());
  const int64_t keys = std::min(read + reply, static_cast<int64_t>(f.kv / row));
  f.working = ModelRunner::working_bytes(*engine, options.queue, options.compute,
                                         method->most_rows_together(prompt), keys) +
              method->working_bytes(read, static_cast<int>(method->most_rows_of_pass(prompt)));
  if (on_host) f.process = engine->process_bytes();
  f.others = static_cast<size_t>(options.at_a_time - 1) * (f.kv + f.working);
  return f;
}

MemoryForecast Sequence::State::check_fits(int64_t new_tokens, int64_t reply) const {
  const int64_t total = static_cast<int64_t>(tokens.size()) + new_tokens;
  if (options.context > 0 && total > options.context) {
    user_error("--ctx {}: the context would hold {} tokens", with_commas(options.context),
               with_commas(total));
  }
  const int64_t room = options.context > 0 ? options.context - total : kMostReply;
  const int64_t written = std::clamp<int64_t>(reply, 0, std::min(room, kMostReply));
  std::string what = with_commas(total) + " tokens";
  if (written > 0) what += " and a reply of up to " + with_commas(written);
  const MemoryForecast need = forecast(new_tokens, written);
  check_memory(need, what,
               fmt::format("a shorter text{}, --kv-type q8_0, a smaller --chunk or an attention "
                           "method that keeps less",
                           written > 0 ? " or reply" : ""));
  return need;
}

size_t Sequence::State::memory_limit() const {
  // The memory that this process already uses is added, because forecasts include it.
  if (options.memory_limit == 0 && !options.queue.on_host()) {
    return options.queue.device().free_bytes() + engine->on_device(options.queue)->bytes() +
           store().bytes() + recurrent.bytes();
  }
  return options.memory_limit > 0 ? options.memory_limit
                                  : available_memory_bytes() + anonymous_resident_bytes();
}

void Sequence::State::check_memory(const MemoryForecast& need, const std::string& what,
                                   std::string_view advice) const {
  const size_t limit = memory_limit();
  if (need.total() <= limit) return;
  std::string parts = fmt::format("weights {}, KV {}, working memory {}, program and tokenizer {}",
                                  format_bytes(need.weights), format_bytes(need.kv),
                                  format_bytes(need.working), format_bytes(need.process));
  if (need.others > 0) parts += fmt::format(", beside it {}", format_bytes(need.others));
  // A control group may allow much less memory than the machine has.
  const bool grouped = control_group_room().value_or(limit + 1) <= limit;
  user_error("{} need {} ({}), more than {} {}; try {}", what, format_bytes(need.total()), parts,
             options.memory_limit > 0   ? "--memory-limit"
             : !options.queue.on_host() ? "the GPU's memory that is free,"
             : grouped                  ? "this process's control group leaves,"
                                        : "the memory that is free,",
             format_bytes(limit), advice);
}

}  // namespace longhaul
