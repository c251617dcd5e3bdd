#pragma once
// Reads the RoPE settings of a Hugging Face config.json.

#include <optional>

#include "model/config_fields.h"
#include "model/rope_spec.h"

namespace longhaul {

/// Reads `rope_parameters`, `rope_scaling` and the related keys, in the same way as transformers 5
/// (configuration_utils.py and modeling_rope_utils.py). If `rope_scaling` is not empty,
/// `rope_parameters` is ignored, including its RoPE base. The functions throw UserError if the kind
/// of scaling is unknown, if a value is missing or out of range, or if there is a key that no kind
/// of scaling has.
class HfRope {
 public:
  /// `by_kind` is true if layers with and without a sliding window have different RoPE settings
  /// (Gemma 3). `rope_parameters` then holds one object for each of the two kinds of layers, and
  /// the keys of `rope_scaling` are added to the object for layers without a window. `alpha` is
  /// true if a dynamic scaling may have the key `alpha`, a fixed factor of the RoPE base (Hunyuan).
  /// `config` must outlive this object.
  HfRope(const ConfigFields& config, bool by_kind, bool alpha = false);

  /// Returns the RoPE settings of the layers without a window, or of all layers if `by_kind` is
  /// false. Supported kinds of scaling are default, linear, llama3, yarn, dynamic and longrope.
  RopeSpec read(int head_dim, int64_t trained_context) const;

  /// Returns `llama_4_scaling_beta` of Ministral 3 (ModelConfig::temperature_scale).
  double temperature() const;
  double all_dims() const;  ///< returns mscale_all_dim of yarn; 0: none

  /// Returns the RoPE base of the layers with a window, if the file specifies it separately. Throws
  /// UserError if the file specifies a scaling for these layers.
  std::optional<double> window_base() const;

 private:
  const ConfigFields& config_;
  nlohmann::json rope_ = nlohmann::json::object();  ///< settings of layers without a window
  /// Settings of layers with a window, if they are different.
  nlohmann::json window_ = nlohmann::json::object();
  bool nested_ = false;  ///< whether rope_ is one of several objects in the file
  bool alpha_ = false;
};

/// Returns the JSON object in a config.json from which HfRope reads the RoPE base: rope_scaling,
/// rope_parameters, one of the objects in rope_parameters, or the whole configuration.
nlohmann::json& holder_of_rope_base(nlohmann::json& config);

}  // namespace longhaul
