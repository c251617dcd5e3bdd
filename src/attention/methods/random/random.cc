// Random eviction (docs/methods/random.md): after prefill, every head keeps randomly selected rows.
// It is the baseline for all methods that evict rows.

#include "attention/methods/random/random_scores.h"
#include "attention/registry.h"
#include "base/nth.h"

namespace longhaul {
namespace {

struct Random final : Method {
  int64_t capacity = 2048, sink = 0, recent = 0, seed = 1;
  void declare(OptionList& o) {
    o.integer(capacity, "capacity", 1, 1 << 24, "tokens", "rows that a head keeps of a prompt");
    o.integer(sink, "sink", 0, 4096, "tokens", "of them: first rows, never evicted");
    o.integer(recent, "recent", 0, 4096, "tokens", "of them: the prompt's last rows");
    o.integer(seed, "seed", 0, 1 << 30, "", "another seed keeps other rows");
  }

  void fit(const ModelShape&) { whole = {.when = When::kPromptEnd, .rewinds = true}; }
  ListPlan plan(int, int, int64_t) const override {
    return {.keep = {.budget = capacity, .sink = sink, .recent = recent}};
  }

  void choose(const Eviction& due) override {
    const int before = due.queue.rank() * due.lists;  // number of lists of lower ranks
    for (int list = 0; list < due.lists; ++list) {
      const auto place =
          (static_cast<uint64_t>(due.layer) << 32) + static_cast<uint64_t>(before + list);
      random_scores(due.queue, (static_cast<uint64_t>(seed) << 48) ^ place, nth(due.scores, list));
    }
  }
};

}  // namespace

MethodInfo random_method() {
  MethodInfo info = method_info<Random>({.name = "random"});
  info.summary = "keeps rows that are drawn by lot";
  info.when = "comparing: chance is the baseline of every method that evicts";
  info.keeps = "of each prompt `capacity` rows a head, drawn at random; the rest is gone";
  info.harms = "everything, as far as heads and layers do not keep different rows";
  info.paper = "none; a baseline";
  info.covers = {""};
  info.small = {{"capacity=60"}, {"capacity=24,sink=2,recent=4,seed=3"}};
  return info;
}

}  // namespace longhaul
