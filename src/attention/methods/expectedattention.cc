// Expected Attention (Devoto et al. 2025): once a prompt has been read, every head keeps the keys
// to which the queries to come are expected to attend, taken for normally distributed around those
// seen so far (docs/methods/expectedattention.md).

#include "attention/parts/own_options.h"
#include "base/nth.h"
#include "ops/expected_attention.h"

namespace longhaul {
namespace {

struct ExpectedAttention final : Method {
  int64_t capacity = 2048, sink = 4, future = 512;
  bool covariance = true, values = true;
  void declare(OptionList& o) {
    o.integer(capacity, "capacity", 1, 1 << 24, "tokens", "rows that a head keeps of a prompt");
    o.integer(sink, "sink", 0, 4096, "tokens", "of them: first rows, which never leave");
    o.integer(future, "future", 1, 1 << 20, "tokens", "queries to come that are averaged over");
    o.flag(covariance, "covariance", "queries vary around their mean, as those seen did");
    o.flag(values, "values", "a key counts by the length of its value too");
  }
  void fit(const ModelShape& shape) {
    shape_ = shape;
    seen_.resize(shape.kv_heads.size());
    if (shape.cap == 0) return;
    user_error(
        "--attention expectedattention: this model caps its attention logits at {}; what is "
        "expected of a logit is known only without a cap",
        shape.cap);
  }

  Plan plan(int, int, int64_t) const override {
    return {.keep = {.when = When::kPromptEnd, .budget = capacity, .sink = sink},
            .watch = kNoBound};
  }

  void observe(LayerStep& step) override {
    QueryMoments& seen = nth(seen_, step.layer);
    if (step.pass.begin == 0) seen.rows = 0;  // each prompt is judged by its own queries
    const int64_t first = std::clamp<int64_t>(sink - step.begin, 0, step.rows);
    const int64_t width = int64_t{shape_.heads} * shape_.head_dim;
    add_query_moments(*step.queue, step.q.from(first * width), step.rows - first, shape_.heads,
                      shape_.head_dim, covariance, seen);
  }

  void score(const Cut& cut) override {
    const ExpectedQueries queries{.moments = &nth(seen_, cut.layer),
                                  .rope = &shape_.rope_of(cut.layer),
                                  .first = cut.tokens,
                                  .positions = future,
                                  .scale = shape_.scale,
                                  .values = values};
    expected_attention(cut.queue, queries, shape_.heads, cut.keys, sink, cut.scores);
  }

  Beside beside(const KvLayout&, int64_t, int) const override {
    const int heads = shape_.layers * shape_.heads;
    return {.working = QueryMoments::bytes_for(heads, shape_.head_dim, covariance)};
  }

 private:
  ModelShape shape_;
  std::vector<QueryMoments> seen_;  ///< per layer, of the prompt's rows behind the sinks
};

}  // namespace

MethodInfo expectedattention_method() {
  MethodInfo info = own_options<ExpectedAttention>({.name = "expectedattention"});
  info.summary = "keeps the keys that queries to come are expected to attend to";
  info.when = "compressing a text before its question is known";
  info.keeps =
      "of each prompt `capacity` rows a head, chosen by the mean and the spread of its queries; "
      "the rest is gone for good";
  info.harms =
      "a question unlike the text: its queries are far from the mean of those that were seen";
  info.paper =
      "Expected Attention: KV Cache Compression by Estimating Attention from Future Queries "
      "Distribution, arXiv 2510.00636";
  info.covers = {"", "covariance=false,values=false"};
  info.small = {{"capacity=60"}, {"capacity=24,sink=2"}};
  return info;
}

}  // namespace longhaul
