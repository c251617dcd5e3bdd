#pragma once
// The rotary embedding of a Hugging Face config.json.

#include <optional>

#include "model/config_fields.h"
#include "model/rope_spec.h"

namespace longhaul {

/// Reads `rope_parameters`, `rope_scaling` and the keys beside them like transformers 5
/// (configuration_utils.py and modeling_rope_utils.py). A `rope_scaling` that is not empty replaces
/// `rope_parameters` completely, including its base. Functions throw UserError for another rule, a
/// missing or impossible value, or a key that no rule has.
class HfRope {
 public:
  /// `by_kind`: layers with a window have angles of their own (Gemma 3). Then `rope_parameters`
  /// holds an object for each kind of layer, and `rope_scaling` adds to the object of the other
  /// layers. `config` must outlive this object.
  HfRope(const ConfigFields& config, bool by_kind);

  /// The rule of layers without a window, if the two kinds differ: default, linear, llama3, yarn,
  /// dynamic, longrope.
  RopeSpec read(int head_dim, int64_t trained_context) const;

  /// Ministral 3's `llama_4_scaling_beta` (ModelConfig::temperature_scale).
  double temperature() const;
  double all_dims() const;  ///< yarn's mscale_all_dim; 0: none

  /// The base of layers with a window, if the file has one. Throws UserError if those layers are
  /// scaled as well.
  std::optional<double> window_base() const;

 private:
  const ConfigFields& config_;
  nlohmann::json rope_ = nlohmann::json::object();    ///< for layers without a window
  nlohmann::json window_ = nlohmann::json::object();  ///< for layers with a window, by kind
  bool nested_ = false;                               ///< `rope_` is one of several objects
};

/// The object of a config.json that holds the RoPE base which HfRope reads: rope_scaling,
/// rope_parameters, one of its kinds, or the configuration itself.
nlohmann::json& holder_of_rope_base(nlohmann::json& config);

}  // namespace longhaul
