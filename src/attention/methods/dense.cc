// Dense attention: every query row sees all earlier tokens, within the model's own sliding window
// in layers that have one. It is the reference for all other methods.

#include "attention/registry.h"

namespace longhaul {
namespace {

struct Dense final : Method {
  void declare(OptionList&) {}
  void fit(const ModelShape&) { whole.rewinds = true; }
  ListPlan plan(int, int, int64_t) const override { return {}; }
};

}  // namespace

MethodInfo dense_method() {
  MethodInfo info = method_info<Dense>({.name = "dense"});
  info.summary = "keeps every key; every row sees all earlier tokens";
  info.when = "the reference; contexts that fit the trained length and the memory";
  info.keeps = "every key and value; nothing is forgotten";
  info.harms =
      "memory and time per token grow with the text, time to read a prompt with its square; beyond "
      "the trained length answers fall apart";
  info.covers = {""};
  info.small = {{.options = "", .saves_nothing = true}};
  return info;
}

}  // namespace longhaul
