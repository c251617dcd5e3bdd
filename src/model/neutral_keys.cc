#include "model/neutral_keys.h"

#include <cmath>
#include <initializer_list>
#include <string>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/config.h"
#include "model/config_fields.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Returns whether two numbers are equal up to rounding, because files contain rounded numbers.
bool same(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

[[noreturn]] void refuse(const std::string& file, const std::string& key, double found,
                         double usual) {
  user_error("{}: {} is {}, which is not supported, only {} is", file, key, found, usual);
}

/// Checks a GGUF file. As in llama.cpp, 0 means that a number is not set.
void check_gguf(const GgufMetadata& data, const ModelConfig& config) {
  const auto must_be = [&](double usual, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const std::string key = config.architecture + "." + name;
      const double found = data.find_f64(key).value_or(0);
      if (found != 0 && !same(found, usual)) refuse(data.file(), key, found, usual);
    }
  };
  const Family& family = *find_family(CheckpointFormat::kGguf, config.architecture);
  must_be(0, {"attention.clamp_kqv", "attention.max_alibi_bias"});
  if (!family.temperature) must_be(0, {"attention.temperature_scale"});
  if (!family.caps) must_be(0, {"attn_logit_softcapping", "final_logit_softcapping"});
  if (!family.multipliers) {
    if (!family.logit_factor) must_be(1, {"logit_scale"});
    must_be(1, {"residual_scale", "embedding_scale"});
    must_be(config.shape().scale, {"attention.scale"});
  }
  if (!family.shared_experts) {
    must_be(0, {"expert_shared_count", "expert_shared_feed_forward_length"});
    must_be(1, {"expert_weights_scale"});
  }
  if (!family.expert_groups) must_be(1, {"expert_group_count"});
  if (!family.expert_steps) must_be(1, {"interleave_moe_layer_step"});
  const std::string causal = config.architecture + ".attention.causal";
  if (!data.find_bool(causal).value_or(true))
    user_error("{}: {} is false, which is not supported", data.file(), causal);
}

void check_hugging_face(const ConfigFields& fields, const ModelConfig& config) {
  const auto must_be = [&](double usual, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      const double found = fields.real(key, usual);
      if (!same(found, usual)) refuse(fields.file(), key, found, usual);
    }
  };
  const Family& family = *find_family(CheckpointFormat::kHuggingFace, config.architecture);
  must_be(0, {"clip_qkv"});
  if (!family.caps) must_be(0, {"attn_logit_softcapping", "final_logit_softcapping"});
  if (!family.multipliers) {
    if (!family.logit_factor) must_be(1, {"logit_scale"});
    must_be(1, {"logits_scaling", "residual_multiplier", "embedding_multiplier", "scale_emb"});
    must_be(1 / std::sqrt(config.head_dim), {"attention_multiplier"});
  }
  if (!family.query_scale && !family.unit_scale)
    must_be(config.head_dim, {"query_pre_attn_scalar"});
  if (family.biases) {  // the activation of gpt-oss has fixed parameters
    must_be(static_cast<double>(config.gating.slope), {"swiglu_alpha"});
    must_be(static_cast<double>(config.gating.limit), {"swiglu_limit"});
  }
  for (const char* key : {"alibi", "use_cla"}) {
    if (fields.flag(key)) user_error("{}: {} is true, which is not supported", fields.file(), key);
  }
  if (!fields.flag("route_norm", true)) {
    user_error("{}: route_norm is false, which is not supported", fields.file());
  }
  // In Gemma 4, the value is a string: tokens of images may attend to each other. Texts without
  // images do not need this.
  constexpr const char* kBoth = "use_bidirectional_attention";
  const bool of_images =
      family.layer_kinds && fields.has(kBoth) && fields.object().at(kBoth) == "vision";
  if (fields.has(kBoth) && fields.object().at(kBoth) != false && !of_images) {
    const nlohmann::json& found = fields.object().at(kBoth);
    user_error("{}: {} is {}, which is not supported", fields.file(), kBoth,
               found == true ? "true" : printable(found.dump()));
  }
  if (!fields.flag("is_causal", true))
    user_error("{}: is_causal is false, which is not supported", fields.file());
}

}  // namespace

void refuse_other_arithmetic(const Checkpoint& checkpoint, const ModelConfig& config) {
  if (checkpoint.format() == CheckpointFormat::kGguf) {
    check_gguf(checkpoint.gguf(), config);
  } else {
    check_hugging_face(ConfigFields(checkpoint.hf()), config);
  }
}

}  // namespace longhaul
