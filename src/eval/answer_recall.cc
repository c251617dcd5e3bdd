#include "eval/answer_recall.h"

#include <algorithm>
#include <optional>

#include "ops/attention/visible_keys.h"
#include "ops/core/host_copies.h"

namespace longhaul {
namespace {

constexpr size_t kShortestAnswer = 3;  // bytes per answer
constexpr size_t kMostTokens = 256;

/// The list's row that holds the token, or the first row after it.
int64_t row_at(const LayerStep& step, int list, int64_t token) {
  int64_t low = 0, high = step.store->length(step.layer, list);
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (step.store->token_of(step.layer, list, middle) < token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

ContextText::ContextText(const Tokenizer& tokenizer, const ComposedPrompt& prompt)
    : begin(prompt.context_begin),
      spans(tokenizer.spans(
          std::span<const int32_t>(prompt.tokens)
              .subspan(static_cast<size_t>(prompt.context_begin),
                       static_cast<size_t>(prompt.context_end - prompt.context_begin)))) {
  for (const TokenSpan& span : spans) text += span.piece;
}

int64_t ContextText::token_at(size_t byte) const {
  const auto behind = std::ranges::upper_bound(spans, byte, {}, &TokenSpan::begin);
  return begin + (behind - spans.begin()) - 1;
}

std::vector<int64_t> answer_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                   std::span<const std::string> answers) {
  if (answers.empty()) return {};  // for a predicted text, which may be long
  return answer_tokens(ContextText(tokenizer, prompt), answers);
}

std::vector<int64_t> answer_tokens(const ContextText& context,
                                   std::span<const std::string> answers) {
  const auto& [begin, spans, text] = context;
  std::vector<int64_t> tokens;
  for (const std::string& answer : answers) {
    if (answer.size() < kShortestAnswer) return {};
    for (size_t at = text.find(answer); at != std::string::npos; at = text.find(answer, at + 1)) {
      for (auto span = spans.begin() + (context.token_at(at) - begin);
           span != spans.end() && span->begin < at + answer.size(); ++span) {
        tokens.push_back(begin + (span - spans.begin()));
      }
      if (tokens.size() > kMostTokens) return {};
    }
  }
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

AnswerRecall::AnswerRecall(std::vector<int64_t> answer, int layers, int64_t prompt_tokens)
    : answer_(std::move(answer)),
      first_row_(prompt_tokens - 1),
      layers_(static_cast<size_t>(layers)) {}

void AnswerRecall::observe(const LayerStep& step, std::span<const AttendTask> tasks) {
  const int64_t row = step.begin + step.rows - 1;
  if (answer_.empty() || step.pass.discard || row < first_row_) return;
  Layer& layer = layers_[static_cast<size_t>(step.layer)];
  if (layer.row != row) {
    layer.before += std::ranges::count(layer.seen, true);
    layer.seen.assign(answer_.size(), false);
    layer.row = row;
    layer.rows += 1;
  }
  for (const AttendTask& task : tasks) {
    if (task.row_begin + task.row_count != step.rows) continue;
    const int64_t position = task.row_position + task.row_count - 1;
    for (const KeySegment& segment : task.segments) look(step, segment, position, layer);
  }
}

void AnswerRecall::look(const LayerStep& step, const KeySegment& shown, int64_t position,
                        Layer& layer) const {
  const std::optional<int> list = step.list_of(shown.rows);
  if (!list) return;
  HostStage on(*step.queue);
  const KeySegment segment = with_host_index(on, shown);
  const KeyRange keys = visible_keys(segment, position);
  if (keys.begin >= keys.end) return;
  const int64_t length = step.store->length(step.layer, *list);
  for (size_t i = 0; i < answer_.size(); ++i) {
    if (layer.seen[i]) continue;
    const int64_t row = row_at(step, *list, answer_[i]);
    if (row == length || step.store->token_of(step.layer, *list, row) != answer_[i]) continue;
    if (!segment.index.empty()) {
      const int32_t* index = host(segment.index).data();
      const int64_t each = segment.whole_pages ? segment.rows.page_rows : 1;
      layer.seen[i] = std::binary_search(index + keys.begin / each,
                                         index + (keys.end + each - 1) / each, row / each);
    } else {
      layer.seen[i] = row >= segment.begin + keys.begin && row < segment.begin + keys.end;
    }
  }
}

std::vector<double> AnswerRecall::by_layer() const {
  std::vector<double> recall;
  for (const Layer& layer : layers_) {
    if (answer_.empty() || layer.rows == 0) return {};
    const auto seen = layer.before + std::ranges::count(layer.seen, true);
    recall.push_back(static_cast<double>(seen) /
                     static_cast<double>(layer.rows * static_cast<int64_t>(answer_.size())));
  }
  return recall;
}

}  // namespace longhaul
