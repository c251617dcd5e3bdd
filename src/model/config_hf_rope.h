#pragma once
// Reads the rotary embedding (RoPE) of a Hugging Face config.json.

#include <optional>

#include "model/config_fields.h"
#include "model/rope_spec.h"

namespace longhaul {

/// Reads `rope_parameters`, `rope_scaling` and the related keys, in the same way as transformers 5
/// (configuration_utils.py and modeling_rope_utils.py). A `rope_scaling` that is not empty replaces
/// `rope_parameters` completely, including the base. The functions throw UserError for an unknown
/// kind of scaling, for a missing or impossible value, and for a key that no kind of scaling uses.
class HfRope {
 public:
  /// `by_kind` says that layers with a sliding window have RoPE angles of their own (Gemma 3).
  /// `rope_parameters` then holds one object for each kind of layer, and `rope_scaling` adds to the
  /// object of the layers without a window. `alpha` says that a dynamic scaling may have a key
  /// `alpha`, a fixed factor of the base (Hunyuan). `config` must outlive this object.
  HfRope(const ConfigFields& config, bool by_kind, bool alpha = false);

  /// Returns the RoPE of the layers without a window, or of all layers if `by_kind` is false.
  /// Supported kinds of scaling are default, linear, llama3, yarn, dynamic and longrope.
  RopeSpec read(int head_dim, int64_t trained_context) const;

  /// Returns `llama_4_scaling_beta` of Ministral 3 (ModelConfig::temperature_scale).
  double temperature() const;
  double all_dims() const;  ///< returns mscale_all_dim of yarn; 0: none

  /// Returns the RoPE base of the layers with a window, if the file specifies one. Throws UserError
  /// if these layers have a scaling.
  std::optional<double> window_base() const;

 private:
  const ConfigFields& config_;
  nlohmann::json rope_ = nlohmann::json::object();  ///< values for layers without a window
  /// Values for layers with a window, if they are different.
  nlohmann::json window_ = nlohmann::json::object();
  bool nested_ = false;  ///< whether rope_ is one of several objects in the file
  bool alpha_ = false;
};

/// Returns the object of a config.json that contains the RoPE base which HfRope reads. It is
/// rope_scaling, rope_parameters, one of the objects in rope_parameters, or the whole
/// configuration.
nlohmann::json& holder_of_rope_base(nlohmann::json& config);

}  // namespace longhaul
