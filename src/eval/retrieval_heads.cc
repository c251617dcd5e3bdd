#include "eval/retrieval_heads.h"

#include <algorithm>

#include "base/error.h"
#include "engine/generate.h"
#include "eval/answer_recall.h"
#include "eval/scorers.h"
#include "eval/task.h"
#include "ops/maps/top_keys.h"

namespace longhaul {
namespace {

constexpr double kRight = 0.5;  // share of the answer's words required in a counted reply

HeadScores zeros(int layers, int heads) {
  return HeadScores(static_cast<size_t>(layers),
                    std::vector<double>(static_cast<size_t>(heads), 0.0));
}

/// Share of the answers' distinct words in the reply.
double words_found(const Sample& sample, const std::string& reply) {
  double sum = 0;
  for (const std::string& answer : sample.answers) sum += needle_words_score(answer, reply);
  return sum / static_cast<double>(sample.answers.size());
}

}  // namespace

StrongestKeys::StrongestKeys(const ModelShape& shape)
    : layers_(shape.layers), heads_(shape.heads) {}

void StrongestKeys::observe(const LayerStep& step) {
  if (!step.decoding()) return;
  const Rotations& rotations = step.rotations(step.begin, 1);
  TopKeysCall call;
  call.queue = step.queue;
  call.queries = step.queries_from(rotations, step.begin, rotated_);
  call.heads = heads_;
  call.head_dim = step.head_dim();
  if (step.layer == 0) keys_.resize(keys_.size() + static_cast<size_t>(layers_ * heads_), -1);
  const std::span<int32_t> keys =
      std::span(keys_).last(static_cast<size_t>((layers_ - step.layer) * heads_));
  call.keys = keys.first(static_cast<size_t>(heads_));
  std::vector<TopKeysTask> tasks;
  for (int head = 0; head < step.kv_heads; ++head) {
    const KeySegment all = step.all_keys(head);
    TopKeysTask& task = tasks.emplace_back();
    task.head_begin = head * step.group();
    task.head_count = step.group();
    task.row_count = 1;
    task.keys = all.rows;
    task.begin = step.shape->first_visible(step.layer, all.count - 1);
    task.count = all.count - task.begin;
  }
  top_keys(call, tasks);
  for (const TopKeysTask& task : tasks) {
    for (int h = task.head_begin; h < task.head_begin + task.head_count; ++h) {
      keys[static_cast<size_t>(h)] += static_cast<int32_t>(task.begin);
    }
  }
}

bool beyond_streaming(int64_t key, int64_t position) {
  constexpr int64_t kSink = 64, kRecent = 256;
  return key >= kSink && position - key >= kRecent;
}

CopyScore::CopyScore(std::span<const int32_t> prompt, std::span<const int64_t> answer)
    : prompt_(prompt), answer_(answer) {
  LH_ASSERT(!answer.empty());
}

double CopyScore::of(int64_t strongest, int32_t token) const {
  const bool copied = std::ranges::binary_search(answer_, strongest) &&
                      prompt_[static_cast<size_t>(strongest)] == token;
  return copied ? 1.0 / static_cast<double>(answer_.size()) : 0;
}

void CopyScore::add(const StrongestKeys& strongest, std::span<const int32_t> reply,
                    HeadScores& scores) const {
  for (size_t row = 0; row < reply.size(); ++row) {
    for (size_t layer = 0; layer < scores.size(); ++layer) {
      for (size_t head = 0; head < scores[layer].size(); ++head) {
        scores[layer][head] += of(strongest.at(row, layer, head), reply[row]);
      }
    }
  }
}

HeadCount::HeadCount(std::shared_ptr<const Engine> engine, const HeadSearch& search)
    : engine_(std::move(engine)), search_(search), composer_(engine_->tokenizer(), search.chat) {
  sums_.scores = zeros(engine_->model().shape.layers, engine_->model().config.heads);
  sums_.distant = sums_.scores;
}

ComposedPrompt HeadCount::compose(const Sample& sample) const {
  return composer_.compose(sample, !search_.chat.has_value());
}

bool HeadCount::ask(const Sample& sample, const ComposedPrompt& prompt,
                    const std::function<void(const LayerStep&)>& watch) {
  const auto answer = answer_tokens(engine_->tokenizer(), prompt, sample.answers);
  if (answer.empty()) {
    ++sums_.asked;
    return true;
  }
  StrongestKeys strongest(engine_->model().shape);
  Session session(engine_, search_.session);
  session.observe([&](const LayerStep& step, auto) {
    strongest.observe(step);
    if (watch && !step.decoding()) watch(step);
  });
  // The prompt's last token is read like generated ones, because it is the first that attends to
  // the answer.
  const auto tokens = std::span<const int32_t>(prompt.tokens);
  if (!session.prefill(tokens.first(tokens.size() - 1), {.cancel = search_.cancel})) return false;
  session.decode(tokens.back());
  const Reply reply = generate(session, {.sampler = {.temperature = 0},
                                         .max_tokens = sample.max_tokens,
                                         .stop = {"\n"},
                                         .cancel = search_.cancel});
  if (reply.stop == StopReason::kCancelled) return false;
  ++sums_.asked;
  if (words_found(sample, reply.text) <= kRight) return true;
  ++sums_.counted;
  CopyScore(prompt.tokens, answer).add(strongest, reply.tokens, sums_.scores);
  add_distant(strongest, static_cast<int64_t>(tokens.size()) - 1, reply.tokens.size());
  return true;
}

/// Adds the statistics of a reply of `rows` tokens whose first was generated at `position`.
void HeadCount::add_distant(const StrongestKeys& strongest, int64_t position, size_t rows) {
  const double share = 1.0 / static_cast<double>(rows);
  for (size_t layer = 0; layer < sums_.distant.size(); ++layer) {
    for (size_t head = 0; head < sums_.distant[layer].size(); ++head) {
      for (size_t row = 0; row < rows; ++row) {
        const bool far =
            beyond_streaming(strongest.at(row, layer, head), position + static_cast<int64_t>(row));
        if (far) sums_.distant[layer][head] += share;
      }
    }
  }
}

FoundHeads HeadCount::means() const {
  FoundHeads means = sums_;
  for (HeadScores* scores : {&means.scores, &means.distant}) {
    for (std::vector<double>& layer : *scores) {
      for (double& score : layer) score /= std::max(1, sums_.counted);
    }
  }
  return means;
}

FoundHeads find_retrieval_heads(const std::shared_ptr<const Engine>& engine, const EvalData& data,
                                const HeadSearch& search) {
  HeadCount count(engine, search);
  const int total = static_cast<int>(search.lengths.size()) * search.samples;
  for (const int64_t length : search.lengths) {
    TaskRequest request;
    request.length = length;
    request.samples = search.samples;
    request.seed = search.seed;
    request.data = &data;
    request.prompt_tokens = [&](const Sample& s) { return count.composer().most_tokens(s); };
    for (const Sample& sample : eval_task("fact").make(request)) {
      if (!count.ask(sample, count.compose(sample))) return count.sums();
      if (search.progress) search.progress(count.sums().asked, total);
    }
  }
  FoundHeads found = count.means();
  found.finished = true;
  return found;
}

}  // namespace longhaul
