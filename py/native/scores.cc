// Log-likelihoods of several continuations of one text, for evaluation harnesses.

#include <algorithm>

#include "base/error.h"
#include "engine/perplexity.h"
#include "session.h"

namespace longhaul::python {
namespace {

constexpr size_t kTogether = 16;          // continuations that are decoded together
constexpr size_t kShortContinuation = 9;  // tokens; longer ones are read like prompts

void count(Continuation& score, const float* logits, size_t vocab, int32_t target) {
  score.sum -= negative_log_likelihood(logits, vocab, target);
  const float own = logits[static_cast<size_t>(target)];
  // Among equal logits the sampler chooses the lowest id.
  for (size_t i = 0; i < vocab && score.greedy; ++i) {
    const bool wins = logits[i] > own || (logits[i] == own && i < static_cast<size_t>(target));
    if (wins) score.greedy = false;
  }
  ++score.tokens;
}

/// Reads a continuation after its first token, whose logits have been counted.
void read_rest(Sequence& sequence, ModelRunner& runner, const std::vector<int32_t>& tokens,
               const CancelFlag& cancel, Continuation& score) {
  const size_t vocab = sequence.logits().size();
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  hooks.all_logits = [&](int64_t first, int64_t rows, const float* logits) {
    for (int64_t r = 0; r < rows; ++r) {
      const auto next = static_cast<size_t>(first + r + 1);
      if (next >= tokens.size()) continue;
      count(score, logits + static_cast<size_t>(r) * vocab, vocab, tokens[next]);
    }
  };
  prefill(sequence, runner, std::span(tokens).first(tokens.size() - 1), hooks);
}

/// Decodes short continuations, one token of each at a time.
void decode_rest(const Sequence& context, ModelRunner& runner,
                 const std::vector<const std::vector<int32_t>*>& tokens,
                 const std::vector<Continuation*>& scores, const CancelFlag& cancel) {
  const size_t vocab = context.logits().size();
  std::vector<Sequence> clones;
  for (size_t i = 0; i < tokens.size(); ++i) clones.push_back(context.clone());
  for (size_t at = 0; !cancel.requested(); ++at) {
    std::vector<DecodeRow> rows;
    std::vector<size_t> of_row;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (at + 1 >= tokens[i]->size()) continue;
      rows.push_back({&clones[i], (*tokens[i])[at]});
      of_row.push_back(i);
    }
    if (rows.empty()) return;
    runner.decode(rows);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (rows[r].failed) std::rethrow_exception(rows[r].failed);
      const size_t i = of_row[r];
      count(*scores[i], clones[i].logits().data(), vocab, (*tokens[i])[at + 1]);
    }
  }
}

}  // namespace

std::vector<Continuation> score_continuations(OpenModel& model, const std::vector<int32_t>& context,
                                              const std::vector<std::vector<int32_t>>& more,
                                              const CancelFlag& cancel) {
  if (context.empty()) user_error("a continuation is scored after at least one token");
  if (!model.runners) {
    model.runners =
        std::make_unique<Runners>(model.engine, model.options.queue, model.options.compute);
  }
  if (!model.scored) model.scored = std::make_unique<Sequence>(model.engine, model.options);
  Sequence& sequence = *model.scored;  // texts with a common beginning often follow each other
  const auto known = static_cast<size_t>(sequence.reuse_prefix(context));
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  if (known < context.size() &&
      !prefill(sequence, model.runners->prompts, std::span(context).subspan(known), hooks)) {
    return {};
  }
  std::vector<Continuation> scores(more.size());
  std::vector<const std::vector<int32_t>*> short_ones;
  std::vector<Continuation*> their_scores;
  const auto end_short_ones = [&] {
    decode_rest(sequence, model.runners->replies, short_ones, their_scores, cancel);
    short_ones.clear();
    their_scores.clear();
  };
  for (size_t i = 0; i < more.size() && !cancel.requested(); ++i) {
    if (more[i].empty()) continue;
    model.engine->check_known(more[i]);
    count(scores[i], sequence.logits().data(), sequence.logits().size(), more[i].front());
    if (more[i].size() == 1) continue;
    if (more[i].size() <= kShortContinuation) {
      short_ones.push_back(&more[i]);
      their_scores.push_back(&scores[i]);
      if (short_ones.size() == kTogether) end_short_ones();
    } else {
      Sequence clone = sequence.clone();
      read_rest(clone, model.runners->prompts, more[i], cancel, scores[i]);
    }
  }
  end_short_ones();
  if (cancel.requested()) return {};
  return scores;
}

}  // namespace longhaul::python
