#include "model/config_hf_rope.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace longhaul {
namespace {

using nlohmann::json;

// All keys that are allowed. `finetuned` describes how the weights were trained and does not change
// angles. The sections of mrope are for the three coordinates of an image patch, which are equal
// for a text token. The last two keys are read elsewhere.
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
  RopeFields(const ConfigFields& config, const ConfigFields& rope, int64_t trained_context,
             bool nested, bool alpha)
      : config_(config), rope_(rope), trained_(trained_context), nested_(nested), alpha_(alpha) {}

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
    if (type == "proportional") return proportional(r, head_dim, partial);
    if (type == "dynamic" && alpha_ && rope_.has("alpha")) {
      // Hunyuan has an NTK-aware scaling of the base that does not depend on the context length.
      r.base *= std::pow(positive("alpha", 1), head_dim / (head_dim - 2.0));
      return r;
    }
    set_scaling(type, r);
    return r;
  }

 private:
  /// Returns `r` for RoPE that rotates only the first pairs of elements of a head. Their
  /// frequencies are computed from the whole head dimension.
  RopeSpec proportional(RopeSpec r, int head_dim, double partial) const {
    constexpr float kStill = 1e30f;  // frequencies that are divided by it are practically 0
    r.rotary_dim = head_dim;
    r.divisors.assign(static_cast<size_t>(head_dim / 2), kStill);
    const auto rotate = static_cast<size_t>(std::min(partial * head_dim / 2, head_dim / 2.0));
    std::fill_n(r.divisors.begin(), rotate, 1.0f);
    if (rope_.has("factor")) {
      r.scaling = RopeScaling::kLinear;
      r.factor = positive("factor", 1);
    }
    return r;
  }

  void check_keys() const {
    for (const auto& [key, value] : rope_.object().items()) {
      if (value.is_null() || (alpha_ && key == "alpha") ||
          std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown))
        continue;
      user_error("{}: rope scaling: {} is not supported", config_.file(), printable(key));
    }
  }

  /// Returns the context length before scaling. A key outside the RoPE object takes precedence over
  /// the key inside it, unless each kind of layer has a RoPE object of its own.
  int64_t original_context() const {
    constexpr const char* kKey = "original_max_position_embeddings";
    const double own = rope_.real(kKey, static_cast<double>(trained_));
    const double original = nested_ ? own : config_.real(kKey, own);
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
      r.original_context = trained_;  // dynamic scaling starts at the trained context length
    } else if (type == "longrope" || type == "su") {
      r.scaling = RopeScaling::kLongRope;
      r.short_factors = factors("short_factor", static_cast<size_t>(r.rotary_dim / 2));
      r.long_factors = factors("long_factor", static_cast<size_t>(r.rotary_dim / 2));
    } else {
      user_error(
          "{}: rope scaling is {}; supported: default, linear, llama3, yarn, dynamic, longrope, "
          "proportional",
          config_.file(), printable(type));
    }
    r.factor = factor(type, r);
    if (r.scaling == RopeScaling::kYarn || r.scaling == RopeScaling::kLongRope) {
      r.attention_factor = positive("attention_factor", 0);
    }
    if (r.scaling == RopeScaling::kYarn) set_yarn(r);
  }

  /// Returns the scaling factor. If the key is missing, some kinds of scaling compute it from the
  /// trained and the original context length.
  double factor(const std::string& type, const RopeSpec& r) const {
    if (rope_.has("factor")) return positive("factor", 1);
    const bool implied = r.scaling == RopeScaling::kYarn || r.scaling == RopeScaling::kLongRope;
    if (!implied) user_error("{}: rope scaling {}: 'factor' is missing", config_.file(), type);
    if (r.original_context == 0) return 1;  // an error is reported later
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

  /// Returns the number of rotations that `key` holds, or `fallback` if it is missing or 0.
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
  bool nested_, alpha_;
};

constexpr const char* kFull = "full_attention";
constexpr const char* kWindow = "sliding_attention";

/// Returns the object `key`. Returns null if it is missing, null or empty, as in transformers.
const json* rope_object(const json& config, const char* key, const std::string& file) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return nullptr;
  if (found->is_object()) return found->empty() ? nullptr : &*found;
  user_error("{}: rope scaling is {}, expected an object", file, printable(found->dump()));
}

/// Returns which of the keys rope_scaling and rope_parameters is used, or null if the file has
/// neither.
const char* key_of_rope(const json& config, const std::string& file) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (rope_object(config, key, file) != nullptr) return key;
  }
  return nullptr;
}

}  // namespace

HfRope::HfRope(const ConfigFields& config, bool by_kind, bool alpha)
    : config_(config), alpha_(alpha) {
  const json& all = config.object();
  if (!by_kind) {
    const char* key = key_of_rope(all, config.file());
    if (key == nullptr) return;
    const json& rope = all.at(key);
    const json* full = rope_object(rope, kFull, config.file());
    nested_ = full != nullptr;
    rope_ = nested_ ? *full : rope;
    return;
  }
  nested_ = true;
  rope_ = window_ = {{"rope_type", "default"}};
  if (const json* kinds = rope_object(all, "rope_parameters", config.file())) {
    if (const json* full = rope_object(*kinds, kFull, config.file())) rope_ = *full;
    if (const json* window = rope_object(*kinds, kWindow, config.file())) window_ = *window;
  }
  if (const json* scaling = rope_object(all, "rope_scaling", config.file())) rope_.update(*scaling);
}

RopeSpec HfRope::read(int head_dim, int64_t trained_context) const {
  const ConfigFields rope(config_.file(), rope_);
  return RopeFields(config_, rope, trained_context, nested_, alpha_).read(head_dim);
}

double HfRope::temperature() const {
  return ConfigFields(config_.file(), rope_).real("llama_4_scaling_beta", 0);
}

double HfRope::all_dims() const {
  return ConfigFields(config_.file(), rope_).real("mscale_all_dim", 0);
}

std::optional<double> HfRope::window_base() const {
  const ConfigFields window(config_.file(), window_);
  const std::string type = window.text("rope_type", window.text("type", "default").c_str());
  if (type != "default") {
    user_error("{}: rope scaling of {} is {}; supported: default", config_.file(), kWindow,
               printable(type));
  }
  if (!window.has("rope_theta")) return std::nullopt;
  return window.real("rope_theta", 0);
}

json& holder_of_rope_base(json& config) {
  const char* key = key_of_rope(config, "config.json");
  if (key == nullptr) return config;
  json& rope = config[key];
  json& own = rope.contains(kFull) && rope[kFull].is_object() ? rope[kFull] : rope;
  return own.contains("rope_theta") ? own : config;
}

}  // namespace longhaul
