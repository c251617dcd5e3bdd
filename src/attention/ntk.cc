// Dynamic NTK: full attention with a rotary base that grows with the context (docs/methods/ntk.md).
//   exact: keys are kept raw and all rotated with the base of the present length;
//   hf:    keys keep the base of the length at which they were read;
//   fixed: one base, of a given length, for the whole run.

#include "attention/ntk.h"

#include <algorithm>
#include <cmath>

#include "attention/registry.h"
#include "base/error.h"

namespace longhaul {

RopeTable ntk_rope(const RopeTable& rope, double factor, int64_t length, int64_t trained) {
  RopeTable stretched = rope;
  const int dim = rope.rotary_dim();
  if (length <= trained || trained <= 0 || dim <= 2) return stretched;
  const double ratio = static_cast<double>(length) / static_cast<double>(trained);
  const double stretch = factor * ratio - (factor - 1);
  for (size_t t = 0; t < stretched.inverse_frequency.size(); ++t) {
    // inverse frequency t is base^(-2t / d)
    stretched.inverse_frequency[t] *= std::pow(stretch, -2.0 * static_cast<double>(t) / (dim - 2));
  }
  return stretched;
}

namespace {

constexpr int64_t kMostContext = 1 << 24;

class Ntk final : public AttentionMethod {
 public:
  Ntk(const MethodOptions& options, const ModelShape& shape)
      : raw_(options.text("mode") == "exact"),
        by_pass_(options.text("length") == "pass"),
        factor_(options.real("factor")),
        trained_(shape.trained_context) {
    if (options.text("mode") != "fixed") return;
    const auto stretched = std::llround(factor_ * static_cast<double>(trained_));
    fixed_length_ = options.optional_integer("context").value_or(stretched);
    if (fixed_length_ >= trained_) return;
    user_error(
        "--attention ntk: context={}: must be from {} to {}: below the trained length it would "
        "change nothing",
        fixed_length_, trained_, kMostContext);
  }

  std::vector<Pass> prepare(const PromptFacts& prompt) override {
    prompt_end_ = prompt.begin + prompt.tokens;
    table_length_ = -1;  // the model's own frequencies may depend on the length of the context
    return AttentionMethod::prepare(prompt);
  }

  void attend(LayerStep& step) override {
    set_length(step, present_length(step));
    const Rotations& rotations = raw_ ? rotations_.up_to(table_, step.begin + step.rows)
                                      : rotations_.fill(table_, step.begin, step.rows);
    const float* queries[] = {
        step.rotated(step.q, step.shape->heads, rotations, step.begin, rotated_q_)};
    const float* keys =
        raw_ ? step.k : step.rotated(step.k, step.kv_heads, rotations, step.begin, rotated_k_);
    step.store->append(step.layer, step.rows, keys, step.v);

    segments_.clear();
    for (int head = 0; head < step.kv_heads; ++head) {
      segments_.push_back(step.all_keys(head));
      segments_.back().rotate = raw_;
    }
    step.attend(queries, segments_, 1, &rotations);
  }

  bool can_rewind() const override { return fixed_length_ > 0; }

  /// Within the length that the base is for, distances turn as those of the trained length do.
  int64_t reach(int64_t tokens, int) const override {
    return fixed_length_ > 0 && tokens > fixed_length_ ? tokens : std::min(tokens, trained_);
  }

 private:
  int64_t present_length(const LayerStep& step) const {
    if (fixed_length_ > 0) return fixed_length_;
    return step.decoding || by_pass_ ? step.begin + step.rows : prompt_end_;
  }

  void set_length(const LayerStep& step, int64_t length) {
    length = std::max(length, step.shape->trained_context);
    if (length == table_length_) return;
    table_length_ = length;
    table_ = ntk_rope(step.shape->rope, factor_, length, step.shape->trained_context);
  }

  bool raw_, by_pass_;
  double factor_;
  int64_t trained_;           // tokens
  int64_t fixed_length_ = 0;  // tokens; 0: the base follows the context
  int64_t prompt_end_ = 0;
  int64_t table_length_ = -1;  // what table_ is for
  RopeTable table_;
  RotationBuffer rotations_;
  Buffer<float> rotated_q_, rotated_k_;
  std::vector<KeySegment> segments_;
};

constexpr OptionInfo kOptions[] = {
    {"mode", OptionKind::kChoice, "exact", "", 0, 0, "exact|hf|fixed",
     "all keys by the present base, each by the base it was read with, or one base"},
    {"factor", OptionKind::kReal, "4", "", 1, 1000, "", "how strongly the base grows"},
    {"length", OptionKind::kChoice, "prompt", "", 0, 0, "prompt|pass",
     "length that a prompt's rows are rotated for: the whole prompt's or the pass's",
     "mode=exact|hf"},
    {"context", OptionKind::kInteger, "auto", "tokens", 1, kMostContext, "",
     "length that the base is for, at least the trained one; auto: factor times the trained one",
     "mode=fixed"},
};

}  // namespace

MethodInfo ntk_method() {
  MethodInfo info;
  info.name = "ntk";
  info.summary = "keeps every key; the rotary base grows with the context";
  info.when = "contexts a few times the trained length, where memory holds all keys";
  info.keeps = "every key and value; nothing is forgotten";
  info.harms =
      "precision beyond the trained length, more the further it goes; memory and time are dense "
      "attention's";
  info.paper = "NTK-aware scaled RoPE (bloc97) made dynamic (emozilla), 2023";
  info.options = kOptions;
  info.make = [](const MethodOptions& o, const ModelShape& s) -> std::unique_ptr<AttentionMethod> {
    return std::make_unique<Ntk>(o, s);
  };
  return info;
}

}  // namespace longhaul
