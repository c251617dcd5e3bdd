#include "attention/method.h"

#include "attention/parts/planned_attention.h"
#include "base/assert.h"
#include "ops/fill.h"

namespace longhaul {

std::vector<Pass> Method::passes(const PromptFacts&) { return {}; }

void Method::attend(LayerStep& step) { attend_by_plan(step); }

void Method::observe(LayerStep& step) {
  const Plan& plan = step.plans.front();
  if (plan.columns.size() == 1) add_attention_to_column(step, plan.columns.front());
}

void Method::score(const Cut& cut) {
  for (int list = 0; list < cut.lists; ++list) {
    const size_t l = static_cast<size_t>(list);
    copy(cut.queue, cut.paid.empty() ? cut.column(list, 0) : cut.paid[l], cut.scores[l]);
  }
}

bool Method::choose(const Cut&, int, RowList&) { return false; }
void Method::after_pass(std::span<KvStore>, const Pass&) {}
void Method::archive(Archive&) {}
void Method::check(const KvStore&, int64_t) const {}
Beside Method::beside(const KvLayout&, int64_t, int) const { return {}; }

}  // namespace longhaul
