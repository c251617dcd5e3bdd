#include "eval/retrieval_heads.h"

#include <algorithm>

#include "base/error.h"
#include "engine/generate.h"
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
    found_.distant = found_.scores;
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
      for (HeadScores* scores : {&found_.scores, &found_.distant}) {
        for (std::vector<double>& layer : *scores) {
          for (double& score : layer) score /= found_.counted;
        }
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
    request.prompt_tokens = [this](const Sample& sample) { return composer_.most_tokens(sample); };
    return eval_task("fact").make(request);
  }

  /// False when it was cancelled.
  bool ask(const Sample& sample) {
    const ComposedPrompt prompt = composer_.compose(sample, opening_);
    const auto answer = answer_tokens(engine_->tokenizer(), prompt, sample.answers);
    if (answer.empty()) return true;
    StrongestKeys strongest(engine_->model().shape);
    Session session(engine_, search_.session);
    session.observe([&](const LayerStep& step, auto) { strongest.observe(step); });
    // The prompt's last token is read as generated ones are: it is the first that looks.
    const auto tokens = std::span<const int32_t>(prompt.tokens);
    if (!session.prefill(tokens.first(tokens.size() - 1), {.cancel = search_.cancel})) return false;
    session.decode(tokens.back());
    const Reply reply = generate(session, {.sampler = {.temperature = 0},
                                           .max_tokens = sample.max_tokens,
                                           .stop = {"\n"},
                                           .cancel = search_.cancel});
    if (reply.stop == StopReason::kCancelled) return false;
    if (needle_words_score(sample.answers.front(), reply.text) <= kRight) return true;
    ++found_.counted;
    CopyScore(prompt.tokens, answer).add(strongest, reply.tokens, found_.scores);
    add_distant(strongest, static_cast<int64_t>(tokens.size()) - 1, reply.tokens.size());
    return true;
  }

  /// Of a reply of `rows` tokens whose first was generated at `position`.
  void add_distant(const StrongestKeys& strongest, int64_t position, size_t rows) {
    const double share = 1.0 / static_cast<double>(rows);
    for (size_t layer = 0; layer < found_.distant.size(); ++layer) {
      for (size_t head = 0; head < found_.distant[layer].size(); ++head) {
        for (size_t row = 0; row < rows; ++row) {
          const bool far = beyond_streaming(strongest.at(row, layer, head),
                                            position + static_cast<int64_t>(row));
          if (far) found_.distant[layer][head] += share;
        }
      }
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
    : layers_(shape.layers), heads_(shape.heads) {}

void StrongestKeys::observe(const LayerStep& step) {
  if (!step.decoding()) return;
  const Rotations& rotations = step.rotations(step.begin, 1);
  TopKeysCall call;
  call.queue = step.queue;
  call.queries = step.queries_from(rotations, step.begin, rotated_);
  call.heads = heads_;
  call.head_dim = step.shape->head_dim;
  if (step.layer == 0) keys_.resize(keys_.size() + static_cast<size_t>(layers_ * heads_), -1);
  const std::span<int32_t> keys =
      std::span(keys_).last(static_cast<size_t>((layers_ - step.layer) * heads_));
  call.keys = keys.first(static_cast<size_t>(heads_));
  std::vector<TopKeysTask> tasks;
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

FoundHeads find_retrieval_heads(const std::shared_ptr<const Engine>& engine, const EvalData& data,
                                const HeadSearch& search) {
  return HeadFinder(engine, search).find(data);
}

}  // namespace longhaul
