#include "model/config_hf_rope.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace longhaul {
namespace {

using nlohmann::json;

// `finetuned` says how the weights were made, and changes no angle; nor do sections of angles for
// the three positions of a patch of an image (mrope), which of a token of text are one; the last
// two are read elsewhere.
constexpr std::string_view kKnown[] = {"rope_type",
                                       "type",
                                       "rope_theta",
                                       "factor",
                                       "finetuned",
                                       "original_max_position_embeddings",
                                       "low_freq_factor",
                                       "beta_fast",
                                       "partial_rotary_factor",
                                       "beta_slow",
                                       "mscale",
                                       "high_freq_factor",
                                       "truncate",
                                       "long_factor",
                                       "attention_factor",
                                       "short_factor",
                                       "mscale_all_dim",
                                       "mrope_section",
                                       "mrope_interleaved",
                                       "llama_4_scaling_beta",
                                       "max_position_embeddings"};

class RopeFields {
 public:
  RopeFields(const ConfigFields& config, const ConfigFields& rope, int64_t trained_context)
      : config_(config), rope_(rope), trained_(trained_context) {}

  RopeSpec read(int head_dim) const {
    check_keys();
    RopeSpec r;
    r.base = rope_.real("rope_theta", config_.real("rope_theta", 10000.0));
    const double partial =
        rope_.real("partial_rotary_factor", config_.real("partial_rotary_factor", 1.0));
    if (!(partial > 0 && partial <= 1)) {
      user_error("{}: 'partial_rotary_factor' is {}, outside 0..1", config_.file(), partial);
    }
    r.rotary_dim = static_cast<int>(head_dim * partial);
    r.original_context = original_context();
    const std::string type = rope_.text("rope_type", rope_.text("type", "default").c_str());
    if (type == "default" || type == "mrope") return r;
    set_scaling(type, r);
    return r;
  }

 private:
  void check_keys() const {
    for (const auto& [key, value] : rope_.object().items()) {
      if (value.is_null() ||
          std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown))
        continue;
      user_error("{}: rope scaling: {} is not supported", config_.file(), printable(key));
    }
  }

  /// What stands beside the scaling rules over what stands in it.
  int64_t original_context() const {
    constexpr const char* kKey = "original_max_position_embeddings";
    const double original = config_.real(kKey, rope_.real(kKey, static_cast<double>(trained_)));
    if (!(original >= 0 && original <= 1 << 30)) {
      user_error("{}: '{}' is {}", config_.file(), kKey, original);
    }
    return static_cast<int64_t>(original);
  }

  void set_scaling(const std::string& type, RopeSpec& r) const {
    if (type == "linear") {
      r.scaling = RopeScaling::kLinear;
    } else if (type == "llama3") {
      r.scaling = RopeScaling::kLlama3;
      r.low_freq_factor = rope_.real("low_freq_factor", 1.0);
      r.high_freq_factor = rope_.real("high_freq_factor", 4.0);
    } else if (type == "yarn") {
      r.scaling = RopeScaling::kYarn;
    } else if (type == "dynamic") {
      r.scaling = RopeScaling::kDynamic;
      r.original_context = trained_;  // the rule knows no other
    } else if (type == "longrope" || type == "su") {
      r.scaling = RopeScaling::kLongRope;
      r.short_factors = factors("short_factor", static_cast<size_t>(r.rotary_dim / 2));
      r.long_factors = factors("long_factor", static_cast<size_t>(r.rotary_dim / 2));
    } else {
      user_error(
          "{}: rope scaling is {}; supported: default, linear, llama3, yarn, dynamic, longrope",
          config_.file(), printable(type));
    }
    r.factor = factor(type, r);
    if (r.scaling == RopeScaling::kYarn || r.scaling == RopeScaling::kLongRope) {
      r.attention_factor = positive("attention_factor", 0);
    }
    if (r.scaling == RopeScaling::kYarn) set_yarn(r);
  }

  /// Rules that stretch a trained length to a longer one need no factor where both are known.
  double factor(const std::string& type, const RopeSpec& r) const {
    if (rope_.has("factor")) return positive("factor", 1);
    const bool implied = r.scaling == RopeScaling::kYarn || r.scaling == RopeScaling::kLongRope;
    if (!implied) user_error("{}: rope scaling {}: 'factor' is missing", config_.file(), type);
    if (r.original_context == 0) return 1;  // refused by the check of the whole
    return static_cast<double>(trained_) / static_cast<double>(r.original_context);
  }

  void set_yarn(RopeSpec& r) const {
    r.beta_fast = rotations("beta_fast", r.beta_fast);
    r.beta_slow = rotations("beta_slow", r.beta_slow);
    r.whole_pairs = rope_.flag("truncate", true);
    const double mscale = rope_.real("mscale", 0), all = rope_.real("mscale_all_dim", 0);
    if (r.attention_factor > 0 || mscale == 0 || all == 0) return;
    r.attention_factor = yarn_magnitude(r.factor, mscale) / yarn_magnitude(r.factor, all);
    if (!(r.attention_factor > 0) || !std::isfinite(r.attention_factor)) {
      user_error("{}: rope scaling: 'mscale' {} over 'mscale_all_dim' {} gives {}", config_.file(),
                 mscale, all, r.attention_factor);
    }
  }

  /// 0 stands for the default.
  double rotations(const char* key, double fallback) const {
    return rope_.real(key, 0) == 0 ? fallback : positive(key, fallback);
  }

  double positive(const char* key, double fallback) const {
    if (!rope_.has(key)) return fallback;
    const double value = rope_.real(key, 0);
    if (value > 0 && std::isfinite(value)) return value;
    user_error("{}: rope scaling: '{}' is {}, expected a positive number", config_.file(), key,
               value);
  }

  std::vector<float> factors(const char* key, size_t count) const {
    if (!rope_.has(key) || !rope_.object().at(key).is_array() ||
        rope_.object().at(key).size() != count) {
      user_error("{}: rope scaling: '{}' is not a list of {} numbers", config_.file(), key, count);
    }
    std::vector<float> values;
    for (const json& v : rope_.object().at(key)) {
      const auto x = static_cast<float>(v.is_number() ? v.get<double>() : 0.0);
      if (!(x > 0) || !std::isfinite(x)) {
        user_error("{}: rope scaling: '{}' holds {}", config_.file(), key, printable(v.dump()));
      }
      values.push_back(x);
    }
    return values;
  }

  const ConfigFields& config_;
  const ConfigFields& rope_;
  int64_t trained_;
};

/// Newer files call it rope_parameters and keep the base in it; where kinds of layers differ it has
/// an object for each. Null: the file has none.
const json* rope_object(const ConfigFields& config, const char* kind) {
  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!config.has(key)) return nullptr;
  const json* rope = &config.object().at(key);
  if (rope->is_object() && rope->contains(kind)) rope = &rope->at(kind);
  if (rope->is_object()) return rope;
  user_error("{}: rope scaling is {}, expected an object", config.file(), printable(rope->dump()));
}

}  // namespace

RopeSpec read_hf_rope(const ConfigFields& config, int head_dim, int64_t trained_context) {
  const json none = json::object();
  const json* rope = rope_object(config, "full_attention");
  const ConfigFields fields(config.file(), rope == nullptr ? none : *rope);
  return RopeFields(config, fields, trained_context).read(head_dim);
}

double read_hf_temperature(const ConfigFields& config) {
  const json* rope = rope_object(config, "full_attention");
  return rope == nullptr ? 0 : ConfigFields(config.file(), *rope).real("llama_4_scaling_beta", 0);
}

std::optional<double> read_hf_window_base(const ConfigFields& config) {
  const json* rope = rope_object(config, "sliding_attention");
  if (rope == nullptr || rope == rope_object(config, "full_attention")) return std::nullopt;
  const ConfigFields fields(config.file(), *rope);
  const std::string type = fields.text("rope_type", "default");
  if (type != "default") {
    user_error("{}: rope scaling of sliding_attention is {}; supported: default", config.file(),
               printable(type));
  }
  if (!fields.has("rope_theta")) return std::nullopt;
  return fields.real("rope_theta", 0);
}

}  // namespace longhaul
