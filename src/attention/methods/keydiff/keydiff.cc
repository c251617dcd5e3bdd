// KeyDiff (Park et al. 2025; docs/methods/keydiff.md): after prefill, every head keeps the keys
// that are least similar to the mean direction of all its keys. The method does not use attention.

#include "attention/methods/keydiff/key_difference.h"
#include "attention/registry.h"
#include "base/nth.h"

namespace longhaul {
namespace {

struct KeyDiff final : Method {
  int64_t capacity = 2048, sink = 0, recent = 0;
  void declare(OptionList& o) {
    o.integer(capacity, "capacity", 1, 1 << 24, "tokens", "rows that a head keeps of a prompt");
    o.integer(sink, "sink", 0, 4096, "tokens", "of them: first rows, never evicted");
    o.integer(recent, "recent", 0, 4096, "tokens", "of them: the prompt's last rows");
  }

  void fit(const ModelShape&) { whole = {.when = When::kPromptEnd, .rewinds = true}; }
  ListPlan plan(int, int, int64_t) const override {
    return {.keep = {.budget = capacity, .sink = sink, .recent = recent}};
  }

  void choose(const Eviction& due) override {
    for (int list = 0; list < due.lists; ++list) {
      key_difference(due.queue, nth(due.keys, list), nth(due.scores, list));
    }
  }
};

}  // namespace

MethodInfo keydiff_method() {
  MethodInfo info = method_info<KeyDiff>({.name = "keydiff"});
  info.summary = "keeps the keys that differ most from all others";
  info.when = "compressing a text before its question is known, at next to no cost";
  info.keeps =
      "of each prompt `capacity` rows a head, chosen by their keys alone; the rest is gone";
  info.harms = "exact facts in ordinary words: a key that looks like the others leaves";
  info.paper = "KeyDiff: Key Similarity-Based KV Cache Eviction, arXiv 2504.15364";
  info.covers = {""};
  info.small = {{"capacity=60"}, {"capacity=24,sink=2,recent=4"}};
  return info;
}

}  // namespace longhaul
