#include "model/config_gguf_rope.h"

#include "format/checkpoint.h"
#include "ops/matmul/dequantize.h"
#include "text/printable.h"

namespace longhaul {
namespace {

class RopeReader {
 public:
  RopeReader(const Checkpoint& checkpoint, const GgufKeys& keys)
      : checkpoint_(checkpoint), keys_(keys) {}

  void read(ModelConfig& c) const {
    RopeSpec& r = c.rope;
    r.rotary_dim = keys_.size_or("rope.dimension_count", c.head_dim);
    r.base = keys_.real("rope.freq_base").value_or(10000.0);
    r.factor =
        keys_.real("rope.scaling.factor").value_or(keys_.real("rope.scale_linear").value_or(1.0));
    r.original_context = keys_.size_or("rope.scaling.original_context_length", c.trained_context);
    const auto type = keys_.data().find_string(keys_.key("rope.scaling.type")).value_or("linear");
    if (type == "yarn") {
      r.scaling = RopeScaling::kYarn;
      set_yarn(r);
    } else if (type == "linear") {
      r.scaling = r.factor != 1.0 ? RopeScaling::kLinear : RopeScaling::kNone;
    } else if (type != "none" && type != "longrope") {
      user_error("{}: {} is {}; supported: none, linear, yarn, longrope", keys_.file(),
                 keys_.key("rope.scaling.type"), printable(type));
    }
    r.divisors = factors("rope_freqs.weight", c);
    r.long_factors = factors("rope_factors_long.weight", c);
    r.short_factors = factors("rope_factors_short.weight", c);
    if (r.long_factors.empty() != r.short_factors.empty()) {
      const bool has_long = r.short_factors.empty();
      user_error("{}: has tensor rope_factors_{}.weight but no rope_factors_{}.weight",
                 keys_.file(), has_long ? "long" : "short", has_long ? "short" : "long");
    }
    if (!r.long_factors.empty()) {
      r.scaling = RopeScaling::kLongRope;
      r.factor = static_cast<double>(c.trained_context) / static_cast<double>(r.original_context);
    }
    set_attention_factor(r);
    refuse_unless(type == "yarn" ? 1.0 : 0.0, "rope.scaling.yarn_ext_factor");
    // With a multiplier of 1, yarn's factor of cos and sin is cancelled. In multi-head latent
    // attention, the multiplier is a part of attention_scale instead (set_latent_scale()).
    const double multiplier = keys_.real("rope.scaling.yarn_log_multiplier").value_or(0);
    const bool cancels =
        r.scaling == RopeScaling::kYarn && (multiplier == 1 || (c.latent.used() && multiplier > 0));
    if (cancels) r.attention_factor = 1;
    if (!cancels) refuse_unless(0.0, "rope.scaling.yarn_log_multiplier");
    refuse_unless(0.0, "rope.scaling.alpha");
  }

 private:
  /// Returns the contents of a tensor with RoPE factors, or an empty vector if there is no such
  /// tensor.
  std::vector<float> factors(const char* name, ModelConfig& c) const {
    const TensorView* tensor = checkpoint_.find(name);
    if (tensor == nullptr) return {};
    c.rope_tensors.emplace_back(name);
    const int pairs = c.rope.rotary_dim / 2;
    if (tensor->elements() != pairs) {
      user_error("{}: tensor {} has {} elements, expected {}", keys_.file(), name,
                 tensor->elements(), pairs);
    }
    std::vector<float> values(static_cast<size_t>(tensor->elements()));
    dequantize_row(tensor->type, tensor->data, tensor->elements(), values.data());
    for (const float v : values) {
      if (!(v > 0))
        user_error("{}: tensor {} holds {}, expected positive numbers", keys_.file(), name, v);
    }
    return values;
  }

  /// Sets the parameters of yarn. Converters copy beta_fast, beta_slow and attention_factor from
  /// config.json, so these keys have the same meaning as there. llama.cpp uses them only for few
  /// architectures.
  void set_yarn(RopeSpec& r) const {
    r.beta_fast = keys_.positive("rope.scaling.yarn_beta_fast").value_or(r.beta_fast);
    r.beta_slow = keys_.positive("rope.scaling.yarn_beta_slow").value_or(r.beta_slow);
    r.attention_factor = keys_.positive("rope.scaling.yarn_attn_factor").value_or(0.0);
  }

  /// Throws UserError if the key exists with a value other than `usual`. The program does not
  /// support other values. Negative numbers mean that the key is not set.
  void refuse_unless(double usual, std::string_view name) const {
    const auto value = keys_.real(name);
    if (!value || *value == usual || *value < 0) return;
    user_error("{}: {} is {}: only {} is supported", keys_.file(), keys_.key(name), *value, usual);
  }

  /// Sets the factors of cos and sin. As in llama.cpp, attn_factor multiplies the factor that the
  /// kind of scaling computes. For longrope, attn_factor is the whole factor, because files contain
  /// the computed result.
  void set_attention_factor(RopeSpec& r) const {
    const auto factor = keys_.positive("rope.scaling.attn_factor");
    if (!factor) return;
    (r.scaling == RopeScaling::kLongRope ? r.attention_factor : r.attention_multiplier) = *factor;
  }

  const Checkpoint& checkpoint_;
  const GgufKeys& keys_;
};

}  // namespace

void read_gguf_rope(const Checkpoint& checkpoint, const GgufKeys& keys, ModelConfig& c) {
  RopeReader(checkpoint, keys).read(c);
}

}  // namespace longhaul
