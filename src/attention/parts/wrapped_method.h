#pragma once
// WrappedMethod is the base class of methods that use another method, the inner method, for some of
// their heads or layers. Functions that a derived class does not override call those of the inner
// method.

#include "attention/method_spec.h"
#include "attention/registry.h"

namespace longhaul {

class WrappedMethod : public Method {
 public:
  void wrap(std::unique_ptr<Method> inner) {
    inner_ = std::move(inner);
    whole = inner_->whole;
  }

  ListPlan plan(int layer, int kv_head, int64_t tokens) const override {
    return inner_->plan(layer, kv_head, tokens);
  }
  std::vector<Pass> passes(const PromptFacts& prompt) override { return inner_->passes(prompt); }
  void attend(LayerStep& step) override { inner_->attend(step); }
  void observe(LayerStep& step) override { inner_->observe(step); }
  void choose(const Eviction& due) override { inner_->choose(due); }
  StoreCheck archive(Archive& archive) override { return inner_->archive(archive); }
  ExtraMemory extra_memory(const KvLayout& layout, int64_t tokens, int chunk) const override {
    return inner_->extra_memory(layout, tokens, chunk);
  }

 private:
  std::unique_ptr<Method> inner_;
};

/// Options that select the inner method, which computes the prefill of heads or layers that see all
/// keys.
struct PromptReader {
  std::string_view dense = "full";
  std::string dense_options;

  bool is_full() const { return dense == "full"; }
  Option& declare_dense(OptionList& o, std::string_view help) {
    return o.choice(dense, "dense", {"full", "minference", "flexprefill", "xattention"}, help);
  }
  Option& declare_dense_options(OptionList& o, std::string_view help) {
    return o.part_options(dense_options, "dense_options", "dense", help)
        .only([this] { return !is_full(); }, "dense!=full", "dense");
  }
  MethodSpec spec() const {
    return MethodSpec::parse_part(is_full() ? "dense" : dense, dense_options);
  }
};

}  // namespace longhaul
