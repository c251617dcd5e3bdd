#include "eval/retrieval_heads.h"

#include <algorithm>

#include "base/error.h"
#include "engine/sampler.h"
#include "eval/answer_recall.h"
#include "eval/compose.h"
#include "eval/scorers.h"
#include "eval/task.h"
#include "ops/top_keys.h"

namespace longhaul {
namespace {

constexpr double kRight = 0.5;  // share of the answer's words in a reply that counts

HeadScores zeros(int layers, int heads) {
  return HeadScores(static_cast<size_t>(layers),
                    std::vector<double>(static_cast<size_t>(heads), 0.0));
}

class HeadFinder {
 public:
  HeadFinder(const std::shared_ptr<const Engine>& engine, const HeadSearch& search)
      : engine_(engine),
        search_(search),
        composer_(engine->tokenizer(), search.chat),
        opening_(!search.chat.has_value()) {
    found_.scores = zeros(engine->model().config.layers, engine->model().config.heads);
  }

  FoundHeads find(const EvalData& data) {
    const int total = static_cast<int>(search_.lengths.size()) * search_.samples;
    for (const int64_t length : search_.lengths) {
      for (const Sample& sample : samples(length, data)) {
        if (!ask(sample)) return found_;
        if (search_.progress) search_.progress(++found_.asked, total);
      }
    }
    if (found_.counted > 0) {
      for (std::vector<double>& layer : found_.scores) {
        for (double& score : layer) score /= found_.counted;
      }
    }
    found_.finished = true;
    return found_;
  }

 private:
  std::vector<Sample> samples(int64_t length, const EvalData& data) const {
    TaskRequest request;
    request.length = length;
    request.samples = search_.samples;
    request.seed = search_.seed;
    request.data = &data;
    request.prompt_tokens = [this](const Sample& sample) {
      return static_cast<int64_t>(composer_.compose(sample, true).tokens.size());
    };
    return eval_task("fact").make(request);
  }

  /// False when it was cancelled.
  bool ask(const Sample& sample) {
    const Tokenizer& tokenizer = engine_->tokenizer();
    const ComposedPrompt prompt = composer_.compose(sample, opening_);
    const std::vector<int64_t> answer = answer_tokens(tokenizer, prompt, sample.answers);
    if (answer.empty()) return true;
    StrongestKeys strongest(engine_->model().shape);
    CopyScore score(prompt.tokens, answer, engine_->model().config.layers,
                    engine_->model().config.heads);
    Session session(engine_, search_.session);
    session.observe([&](const LayerStep& step, auto) { strongest.observe(step); });
    // The prompt's last token is read as generated ones are: it is the first that looks.
    const auto tokens = std::span<const int32_t>(prompt.tokens);
    if (!session.prefill(tokens.first(tokens.size() - 1), {.cancel = search_.cancel})) return false;
    session.decode(tokens.back());
    std::vector<int32_t> reply;
    Sampler greedy({.temperature = 0});
    for (;;) {
      if (search_.cancel != nullptr && search_.cancel->requested()) return false;
      const int32_t token = greedy.sample(session.logits(), session.tokens());
      if (tokenizer.end_of_generation(token)) break;
      score.add(strongest, token);
      reply.push_back(token);
      const bool ends = tokenizer.decode({&reply.back(), 1}).find('\n') != std::string::npos;
      if (ends || std::ssize(reply) == sample.max_tokens) break;
      session.decode(token);
    }
    if (needle_words_score(sample.answers.front(), tokenizer.decode(reply)) > kRight) {
      add(score.scores());
    }
    return true;
  }

  void add(const HeadScores& scores) {
    ++found_.counted;
    for (size_t l = 0; l < scores.size(); ++l) {
      for (size_t h = 0; h < scores[l].size(); ++h) found_.scores[l][h] += scores[l][h];
    }
  }

  std::shared_ptr<const Engine> engine_;
  const HeadSearch& search_;
  PromptComposer composer_;
  bool opening_;
  FoundHeads found_;
};

}  // namespace

StrongestKeys::StrongestKeys(const ModelShape& shape)
    : heads_(shape.heads), keys_(static_cast<size_t>(shape.layers * shape.heads), -1) {}

void StrongestKeys::observe(const LayerStep& step) {
  if (step.rows != 1) return;
  const Rotations& rotations = step.workspace->rotations.fill(step.shape->rope, step.begin, 1);
  TopKeysCall call;
  call.queries = step.rotated(step.q, heads_, rotations, step.begin, rotated_);
  call.heads = heads_;
  call.head_dim = step.shape->head_dim;
  call.keys = keys_.data() + static_cast<int64_t>(step.layer) * heads_;
  std::vector<TopKeysTask> tasks;
  std::vector<int64_t> begins;
  const int64_t window = step.shape->own_window(step.layer);
  for (int head = 0; head < step.kv_heads; ++head) {
    const KeySegment all = step.all_keys(head);
    TopKeysTask& task = tasks.emplace_back();
    task.head_begin = head * step.group();
    task.head_count = step.group();
    task.row_count = 1;
    task.keys = all.rows;
    task.begin = window > 0 ? std::max<int64_t>(0, all.count - window) : 0;
    task.count = all.count - task.begin;
  }
  top_keys(call, tasks);
  for (const TopKeysTask& task : tasks) {
    for (int h = task.head_begin; h < task.head_begin + task.head_count; ++h) {
      call.keys[h] += static_cast<int32_t>(task.begin);
    }
  }
}

CopyScore::CopyScore(std::span<const int32_t> prompt, std::span<const int64_t> answer, int layers,
                     int heads)
    : prompt_(prompt), answer_(answer), scores_(zeros(layers, heads)) {
  LH_ASSERT(!answer.empty());
}

void CopyScore::add(const StrongestKeys& strongest, int32_t token) {
  for (int layer = 0; layer < std::ssize(scores_); ++layer) {
    for (int head = 0; head < std::ssize(scores_[0]); ++head) {
      add(layer, head, strongest.at(layer, head), token);
    }
  }
}

void CopyScore::add(int layer, int head, int64_t strongest, int32_t token) {
  if (!std::ranges::binary_search(answer_, strongest)) return;
  if (prompt_[static_cast<size_t>(strongest)] != token) return;
  scores_[static_cast<size_t>(layer)][static_cast<size_t>(head)] +=
      1.0 / static_cast<double>(answer_.size());
}

FoundHeads find_retrieval_heads(const std::shared_ptr<const Engine>& engine, const EvalData& data,
                                const HeadSearch& search) {
  return HeadFinder(engine, search).find(data);
}

}  // namespace longhaul
