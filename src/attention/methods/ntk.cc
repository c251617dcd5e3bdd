// Dynamic NTK: full attention with a rotary base that grows with the context (docs/methods/ntk.md).
//   exact: keys are stored raw and all are rotated with the base of the present length;
//   hf:    keys keep the base of the length at which they were read;
//   fixed: one base, for a given length, in the whole run.

#include <algorithm>
#include <cmath>

#include "attention/registry.h"
#include "base/error.h"

namespace longhaul {
namespace {

constexpr int64_t kMostContext = 1 << 24;

class Ntk final : public Method {
 public:
  enum class Mode : uint8_t { kExact, kHf, kFixed };
  enum class Length : uint8_t { kPrompt, kPass };
  Mode mode = Mode::kExact;
  double factor = 4;
  Length length = Length::kPrompt;
  std::optional<int64_t> context;
  void declare(OptionList& o) {
    o.choice(mode, "mode", {"exact", "hf", "fixed"},
             "all keys by the present base, each by the base of its prefill, or one base");
    o.real(factor, "factor", 1, 1000, "", "how strongly the base grows");
    o.choice(length, "length", {"prompt", "pass"},
             "length that a prompt's rows are rotated for: the whole prompt's or the pass's")
        .only([this] { return mode != Mode::kFixed; }, "mode=exact|hf", "mode");
    o.integer(context, "context", 1, kMostContext, "tokens",
              "length that the base is for, at least the trained one; auto: factor times the "
              "trained one")
        .only([this] { return mode == Mode::kFixed; }, "mode=fixed", "mode");
  }

  void fit(const ModelShape& shape) {
    whole.place = mode == Mode::kExact ? KeyPlace::kCache : KeyPlace::kAbsolute;
    whole.by_length = true;
    trained_ = shape.trained_context;
    rotary_dim_ = shape.rope.rotary_dim();
    if (mode != Mode::kFixed) return;
    fixed_length_ = context.value_or(std::llround(factor * static_cast<double>(trained_)));
    whole.rewinds = fixed_length_ > 0;
    if (fixed_length_ >= trained_) return;
    user_error(
        "--attention ntk: context={}: must be from {} to {}: below the trained length it would "
        "change nothing",
        fixed_length_, trained_, kMostContext);
  }

  ListPlan plan(int, int, int64_t tokens) const override {
    // Up to the context length for which the base was computed, angles stay within the trained
    // range.
    const int64_t reach = fixed_length_ > 0 && tokens > fixed_length_ ? kNoBound : trained_;
    return {.see = {.reach = reach, .stretch = stretch(length_for(tokens))}};
  }

  std::vector<Pass> passes(const PromptFacts& prompt) override {
    prompt_end_ = prompt.begin + prompt.tokens;
    return {};
  }

 private:
  int64_t length_for(int64_t tokens) const {
    if (fixed_length_ > 0) return fixed_length_;
    return length == Length::kPass ? tokens : std::max(tokens, prompt_end_);
  }

  double stretch(int64_t tokens) const {
    if (tokens <= trained_ || trained_ <= 0 || rotary_dim_ <= 2) return 1;
    const double ratio = static_cast<double>(tokens) / static_cast<double>(trained_);
    return factor * ratio - (factor - 1);
  }

  int64_t trained_ = 0;  // tokens
  int rotary_dim_ = 0;
  int64_t fixed_length_ = 0;  // tokens; 0: the base follows the context
  int64_t prompt_end_ = 0;    // end of the last prompt
};

}  // namespace

MethodInfo ntk_method() {
  MethodInfo info = method_info<Ntk>({.name = "ntk"});
  info.summary = "keeps every key; the rotary base grows with the context";
  info.when = "contexts a few times the trained length, where memory holds all keys";
  info.keeps = "every key and value; nothing is forgotten";
  info.harms =
      "precision beyond the trained length, more the further it goes; memory and time are dense "
      "attention's";
  info.paper = "NTK-aware scaled RoPE (bloc97) made dynamic (emozilla), 2023";
  info.covers = {"", "mode=hf", "mode=fixed,context=4096"};
  info.small = {{.options = "", .reach = 4096, .saves_nothing = true},
                {.options = "mode=hf", .reach = 4096, .saves_nothing = true},
                {.options = "mode=fixed", .saves_nothing = true}};
  return info;
}

}  // namespace longhaul
