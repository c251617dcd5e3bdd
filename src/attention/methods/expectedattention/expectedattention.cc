// Expected Attention (Devoto et al. 2025; docs/methods/expectedattention.md): after prefill, a head
// keeps the keys with the highest expected attention from future queries. Future queries are
// assumed to have the distribution of the prompt's queries.

#include "attention/methods/expectedattention/expected_attention.h"
#include "attention/registry.h"

namespace longhaul {
namespace {

struct ExpectedAttention final : Method {
  int64_t capacity = 2048, sink = 4, future = 512;
  bool covariance = true, values = true;
  SeenQueries seen;  ///< moments of the prompt's queries after the sinks
  void declare(OptionList& o) {
    o.integer(capacity, "capacity", 1, 1 << 24, "tokens", "rows that a head keeps of a prompt");
    o.integer(sink, "sink", 0, 4096, "tokens", "of them: first rows, never evicted");
    o.integer(future, "future", 1, 1 << 20, "tokens", "queries to come that are averaged over");
    o.flag(covariance, "covariance", "queries vary around their mean, as those seen did");
    o.flag(values, "values", "a key counts by the length of its value too");
  }
  void fit(const ModelShape& shape) {
    whole = {.when = When::kPromptEnd, .observation_window = kNoBound};
    for (int l = 0; l < shape.layers; ++l) {
      seen.add_layer(shape.heads, shape.dim_of(l), covariance);
    }
  }

  ListPlan plan(int, int, int64_t) const override {
    return {.keep = {.budget = capacity, .sink = sink}};
  }
  void observe(LayerStep& step) override {
    // Only the queries of the current prompt are used.
    if (step.pass.begin == 0) seen.forget(step.layer);
    seen.add(*step.queue, step.layer, step.q_from(sink));
  }
  void choose(const Eviction& due) override {
    const ExpectedQueries queries{&seen.of(due.layer), &due.shape.rope_of(due.layer),
                                  due.tokens,          future,
                                  due.shape.scale,     values};
    expected_attention(due.queue, queries, due.keys, sink, due.scores);
  }
  ExtraMemory extra_memory(const KvLayout&, int64_t, int) const override {
    return {.working = seen.most_bytes()};
  }
};

}  // namespace

MethodInfo expectedattention_method() {
  MethodInfo info = method_info<ExpectedAttention>({.name = "expectedattention"});
  info.summary = "keeps the keys that queries to come are expected to attend to";
  info.when = "compressing a text before its question is known";
  info.keeps =
      "of each prompt `capacity` rows a head, by mean and spread of its queries; the rest is gone";
  info.harms = "a question unlike the text: its queries are far from the mean of those seen";
  info.paper = "Devoto et al. 2025, Expected Attention, arXiv 2510.00636";
  info.uncapped = true;
  info.covers = {"", "covariance=false,values=false"};
  info.small = {{"capacity=60"}, {"capacity=24,sink=2"}};
  return info;
}

}  // namespace longhaul
