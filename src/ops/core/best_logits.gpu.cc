#include "ops/core/best_logits.gpu.h"

#include <algorithm>

#include "base/assert.h"

namespace longhaul::cuda {

static_assert(sizeof(BestLogit) == sizeof(BestOfRow) && sizeof(LogitSums) == sizeof(SumsOfRow));

/// Writes the masks of all rows, each with (n + 63) / 64 words. Words past the end of a mask forbid
/// their tokens.
void BestLogits::upload_masks(std::span<const LogitRules> rules, int64_t n) {
  const auto words = static_cast<size_t>((n + 63) / 64);
  first_words_.clear();
  words_.clear();
  for (const LogitRules& row : rules) {
    first_words_.push_back(row.mask.empty() ? -1 : std::ssize(words_));
    if (row.mask.empty()) continue;
    const auto some = row.mask.first(std::min(words, row.mask.size()));
    words_.insert(words_.end(), some.begin(), some.end());
    words_.resize(words_.size() + words - some.size());
  }
}

void BestLogits::change(float* logits, int64_t n) {
  if (listed_.empty()) return;
  const LogitChange* const there = changes_.upload(std::span<const LogitChange>(listed_));
  change_logits(queue_.handle(), logits, n, there, std::ssize(listed_));
  listed_.clear();
}

void BestLogits::run(View<float> logits, std::span<const LogitRules> rules, int k,
                     std::span<BestLogit> best, std::span<LogitSums> sums) {
  const int64_t rows = std::ssize(rules), n = logits.size() / rows;
  memory_.at_least(best_of_rows_bytes(rows));
  auto* const memory = static_cast<std::byte*>(memory_.data);
  upload_masks(rules, n);
  const bool masked = !words_.empty();
  const int64_t* const masks =
      masked ? masks_.upload(std::span<const int64_t>(first_words_)) : nullptr;
  const uint64_t* const bits = masked ? bits_.upload(std::span<const uint64_t>(words_)) : nullptr;
  mask_logits(queue_.handle(), logits.address(), rows, n, masks, bits, memory);
  listed_.clear();
  for (int32_t r = 0; r < rows; ++r) {
    const LogitRules& row = rules[static_cast<size_t>(r)];
    for (const int32_t token : row.repeated) listed_.push_back({r, token, row.repeat_penalty, 0});
  }
  change(logits.address(), n);
  for (int32_t r = 0; r < rows; ++r) {
    for (const LogitBias& bias : rules[static_cast<size_t>(r)].biases) {
      listed_.push_back({r, bias.token, 1, bias.add});
    }
  }
  change(logits.address(), n);
  const size_t best_bytes = best.size_bytes(), bytes = best_bytes + sums.size_bytes();
  found_.at_least(bytes);
  auto* const found = static_cast<std::byte*>(found_.data);
  best_of_rows(queue_.handle(), logits.address(), rows, n, k, memory,
               reinterpret_cast<BestOfRow*>(found),
               reinterpret_cast<SumsOfRow*>(found + best_bytes));
  queue_.begin_download(found, best.data(), best_bytes);
  queue_.begin_download(found + best_bytes, sums.data(), sums.size_bytes());
}

}  // namespace longhaul::cuda
