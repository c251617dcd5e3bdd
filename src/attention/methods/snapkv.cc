// SnapKV (Li et al. 2024): after prefill, every head keeps the rows that received most attention
// from the last queries. This attention is pooled over neighbouring rows, so that neighbours of an
// important row are kept too.

#include "attention/parts/observation_window.h"

namespace longhaul {
namespace {

struct SnapKv final : Method, ObservationWindow {
  int64_t capacity = 2048;
  void declare(OptionList& o) {
    o.integer(capacity, "capacity", 2, 1 << 24, "tokens",
              "rows that a head keeps of a prompt, the window among them");
    declare_window(o);
    declare_per(o);
  }
  void fit(const ModelShape&) {
    check_window("snapkv", capacity);
    whole = window_plan();
  }

  ListPlan plan(int, int, int64_t) const override { return list_plan(capacity); }
  void choose(const Eviction& due) override { pool_votes(due); }
};

}  // namespace

MethodInfo snapkv_method() {
  MethodInfo info = method_info<SnapKv>({.name = "snapkv"});
  info.summary =
      "keeps what the last queries of the prompt attend to, the same number in every head";
  info.when = "one question at the end of a long prompt, and short answers";
  info.keeps =
      "of each prompt `capacity` rows a head, chosen by the prompt's last queries; the rest is "
      "gone for good";
  info.harms =
      "a second question: what the first did not need is gone; answers spread over more than "
      "`capacity` tokens. Reading costs as much as dense";
  info.paper = "SnapKV: LLM Knows What You are Looking for Before Generation, arXiv 2404.14469";
  info.covers = {"", "per=query_head"};
  info.small = {
      {"capacity=60,window=8"}, {"capacity=60,window=8,per=query_head"}, {"capacity=24,window=8"}};
  return info;
}

}  // namespace longhaul
