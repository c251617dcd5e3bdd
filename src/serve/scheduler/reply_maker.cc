#include "serve/scheduler/reply_maker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/damaged_weights.h"

namespace longhaul::serve {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kUnlikely = -9999;  // JSON has no infinity

/// log(sum(exp(logits))), without overflow.
double log_sum_exp(std::span<const float> logits) {
  float best = kNever;
  for (const float logit : logits) best = std::max(best, logit);
  double sum = 0;
  for (const float logit : logits) {
    if (logit > kNever) sum += std::exp(static_cast<double>(logit) - best);
  }
  return best + std::log(sum);
}

float logprob_of(float logit, double total) {
  const double value = static_cast<double>(logit) - total;
  return std::isfinite(value) ? static_cast<float>(value) : kUnlikely;
}

}  // namespace

TokenReport report_token(std::span<const float> logits, int32_t token, int count) {
  TokenReport report;
  report.id = token;
  const double total = log_sum_exp(logits);
  if (token >= 0 && static_cast<size_t>(token) < logits.size()) {
    report.logprob = logprob_of(logits[static_cast<size_t>(token)], total);
  }
  if (count <= 0) return report;
  std::vector<int32_t> ids(logits.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
  const auto end = ids.begin() + std::min<ptrdiff_t>(count, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  });
  for (auto id = ids.begin(); id != end; ++id) {
    report.best.push_back({*id, logprob_of(logits[static_cast<size_t>(*id)], total)});
  }
  return report;
}

ReplyMaker::ReplyMaker(const Tokenizer& tokenizer, const ReplyOptions& options)
    : tokenizer_(tokenizer),
      options_(options),
      sampler_(options.sampler),
      detokenizer_(tokenizer,
                   {.skip_special = !options.control_texts, .starts_text = options.starts_text}),
      stops_(options.stop),
      reasoning_(tokenizer_, options_.reasoning) {
  const auto forbidden = [&](int32_t id) {
    return options_.ignore_eos && tokenizer.end_of_generation(id);
  };
  for (const auto& [id, bias] : options_.logit_bias) {
    if (id >= 0 && !forbidden(id)) biases_.push_back({id, bias});
  }
  for (size_t i = 0; options_.ignore_eos && i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (forbidden(id)) biases_.push_back({id, kNever});
  }
}

bool ReplyMaker::takes_highest() const {
  return options_.sampler.temperature <= 0 && options_.sampler.repeat_penalty == 1 &&
         options_.presence_penalty == 0 && options_.frequency_penalty == 0 &&
         options_.logprobs < 0 && options_.reasoning.tokens < 0;
}

std::span<const float> ReplyMaker::biased(std::span<const float> logits) {
  const bool penalised = options_.presence_penalty != 0 || options_.frequency_penalty != 0;
  if (biases_.empty() && !penalised) return logits;
  // The replies of a thread share this memory, which has 4 bytes for each token of the vocabulary.
  thread_local std::vector<float> work;
  work.assign(logits.begin(), logits.end());
  for (const LogitBias& bias : biases_) {
    if (static_cast<size_t>(bias.token) < work.size()) {
      work[static_cast<size_t>(bias.token)] += bias.add;
    }
  }
  if (penalised) {
    for (const auto& [id, count] : counts_) {
      work[static_cast<size_t>(id)] -=
          options_.presence_penalty + options_.frequency_penalty * static_cast<float>(count);
    }
  }
  return work;
}

/// The tokens that the reply's form allows; empty if it allows all.
std::span<const uint64_t> ReplyMaker::allowed() {
  if (!options_.constraint || !options_.constraint->active()) return {};
  thread_local grammar::TokenMask mask;
  mask.resize(options_.constraint->mask_words());
  options_.constraint->allowed(mask);
  return mask;
}

std::span<const uint64_t> ReplyMaker::mask() {
  if (!options_.constraint || !options_.constraint->active()) return {};
  mask_.resize(options_.constraint->mask_words());
  return mask_;
}

void ReplyMaker::write_mask() {
  no_mask_ = nullptr;
  try {
    options_.constraint->allowed(mask_);
  } catch (...) {
    no_mask_ = std::current_exception();
  }
}

void ReplyMaker::constrain_after(int32_t token) {
  if (!options_.constraint) return;
  options_.constraint->accept(
      token, tokenizer_.is_special(token) ? tokenizer_.piece(token) : std::string_view());
}

void ReplyMaker::hold(int32_t token, std::span<const float> logits) {
  Held held{{token, 0, {}}, made_text_};
  if (options_.logprobs >= 0) held.report = report_token(logits, token, options_.logprobs);
  held_.push_back(std::move(held));
}

/// Gives out the tokens whose text has begun to be shown, or all.
void ReplyMaker::release(ReplyPiece& piece, bool all) {
  while (!held_.empty() && (all || held_.front().begin < shown_text_)) {
    piece.tokens.push_back(std::move(held_.front().report));
    held_.pop_front();
  }
}

void ReplyMaker::push_text(const std::string& text, ReplyPiece& piece) {
  made_text_ += text.size();
  const std::string shown = stops_.push(text);
  shown_text_ += shown.size();
  piece.text += shown;
}

ReplyPiece ReplyMaker::take(std::span<const float> raw, std::span<const int32_t> history) {
  const std::span<const float> logits = biased(raw);
  const bool formed = options_.constraint && options_.constraint->active();
  const std::optional<int32_t> forced = formed ? std::nullopt : reasoning_.forced();
  return add(forced ? *forced : sampler_.sample(logits, history, allowed()), logits);
}

ReplyPiece ReplyMaker::take(const BestLogit& highest) {
  if (no_mask_) std::rethrow_exception(std::exchange(no_mask_, nullptr));
  if (highest.token < 0) refuse_damaged_weights();
  return add(highest.token, {});
}

/// Adds a token to the reply. `logits` are only used for logprobs.
ReplyPiece ReplyMaker::add(int32_t token, std::span<const float> logits) {
  ReplyPiece piece;
  last_ = token;
  constrain_after(last_);
  ++made_;
  tokens_.push_back(last_);
  ++counts_[last_];
  hold(last_, logits);
  if (tokenizer_.end_of_generation(last_) && !options_.ignore_eos) {
    piece = end(Finish::kEnd);
    return piece;
  }
  const std::string text = detokenizer_.push(last_);
  reasoning_.push(text);
  push_text(text, piece);
  if (stops_.stopped()) {
    end_at_stop_string(piece);
    return piece;
  }
  release(piece, false);
  const bool complete = options_.constraint && options_.constraint->must_end();
  const bool watches_loops = options_.max_tokens < 0 && options_.sampler.temperature <= 0;
  const int64_t most = options_.max_tokens >= 0 ? options_.max_tokens : options_.open_limit;
  const bool full = (options_.max_tokens >= 0 || most > 0) && made_ >= most;
  const bool loops = watches_loops && loop_.push(last_);
  if (!full && !loops && !complete) return piece;
  ReplyPiece last = end(complete ? Finish::kEnd : full ? Finish::kLength : Finish::kLoop);
  last.text.insert(0, piece.text);
  last.tokens.insert(last.tokens.begin(), piece.tokens.begin(), piece.tokens.end());
  return last;
}

/// Tokens whose text the stop string has swallowed are not told.
void ReplyMaker::end_at_stop_string(ReplyPiece& piece) {
  piece.finish = Finish::kStopString;
  piece.stop_string = stops_.matched();
  release(piece, false);
  held_.clear();
}

ReplyPiece ReplyMaker::end(Finish reason) {
  ReplyPiece piece;
  piece.finish = reason;
  push_text(detokenizer_.flush(), piece);
  if (stops_.stopped()) {
    end_at_stop_string(piece);
    return piece;
  }
  const std::string rest = stops_.flush();
  shown_text_ += rest.size();
  piece.text += rest;
  release(piece, true);
  return piece;
}

}  // namespace longhaul::serve
