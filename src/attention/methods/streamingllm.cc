// StreamingLLM (docs/methods/streamingllm.md): lists keep the first tokens of the context
// (attention sinks) and the most recent tokens. The position of a key is its index in the list, so
// that distances never exceed the length of the list.
//
// The rows of a pass see the rows that the list kept before the pass, and the rows of the pass up
// to themselves. Rows are evicted after the pass. With passes of one row, the result is that of the
// published method.

#include "attention/registry.h"

namespace longhaul {
namespace {

struct StreamingLlm final : Method {
  int64_t sink = 4, recent = 2000;
  void declare(OptionList& o) {
    o.integer(sink, "sink", 0, 1 << 20, "tokens", "first tokens of the context, kept for good");
    o.integer(recent, "recent", 1, 1 << 24, "tokens", "last tokens, kept");
  }

  void fit(const ModelShape&) { whole = {.place = KeyPlace::kCache, .when = When::kEveryPass}; }
  ListPlan plan(int, int, int64_t) const override {
    return {.keep = {.sink = sink, .recent = recent}, .see = {.sink = sink, .window = recent}};
  }
};

}  // namespace

MethodInfo streamingllm_method() {
  MethodInfo info = method_info<StreamingLlm>({.name = "streamingllm"});
  info.summary = "keeps the first tokens and the most recent ones; forgets what lies between";
  info.when = "endless text at constant memory and speed, when only the recent part matters";
  info.keeps = "the first `sink` and the last `recent` tokens; what lies between is gone for good";
  info.harms = "any question whose answer lies between the first tokens and the recent ones";
  info.paper = "Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks";
  info.covers = {"", "sink=0,recent=700"};
  info.small = {{"recent=60", 4 + 60 + 64}, {"sink=2,recent=16", 2 + 16 + 64}};
  return info;
}

}  // namespace longhaul
