#include "model/ssm_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/checkpoint.h"

namespace longhaul {
namespace {

using nlohmann::json;

/// Keys of the sizes in a file.
struct SsmKeys {
  std::string file, heads, head_dim, inner, state, groups, kernel;
};

void check_ssm(const SsmShape& s, int inner, const SsmKeys& keys) {
  const auto in_range = [&](const std::string& key, int value, int least, int most) {
    if (value < least || value > most)
      user_error("{}: {} is {}, which is outside {}..{}", keys.file, key, value, least, most);
  };
  in_range(keys.heads, s.heads, 1, 4096);
  in_range(keys.head_dim, s.head_dim, 1, 1024);
  in_range(keys.state, s.state, 1, 1024);
  in_range(keys.groups, s.groups, 1, 4096);
  in_range(keys.kernel, s.kernel, 2, 64);
  if (s.inner() != inner) {
    user_error("{}: {} is {}, which {} heads of {} elements do not fill", keys.file, keys.inner,
               inner, s.heads, s.head_dim);
  }
  if (s.head_dim % 16 != 0) {
    user_error("{}: {} is {}, expected a multiple of 16", keys.file, keys.head_dim, s.head_dim);
  }
  if (s.heads % s.groups != 0) {
    user_error("{}: {} is {}, which {} heads cannot share evenly", keys.file, keys.groups, s.groups,
               s.heads);
  }
}

/// Throws UserError if time steps are limited, which published models do not do. The upper limit
/// must be infinite, which has several spellings in JSON.
void refuse_step_limits(const ConfigFields& fields) {
  constexpr const char* kKey = "time_step_limit";
  if (!fields.has(kKey)) return;
  const json& limits = fields.object().at(kKey);
  const bool none = limits.is_array() && limits.size() == 2 && limits[0] == 0 &&
                    (!limits[1].is_number() || limits[1].get<double>() > 1e30);
  if (none) return;
  user_error("{}: {} is {}, which is not supported, only no limit is", fields.file(), kKey,
             printable(limits.dump()));
}

int size_of_head(const ConfigFields& fields, const char* key, int inner, int heads) {
  const bool given = fields.has(key) && fields.object().at(key) != "auto";
  return given ? fields.integer(key) : heads > 0 ? inner / heads : 0;
}

void read_nemotron(const ConfigFields& fields, ModelConfig& c) {
  SsmShape& s = c.ssm;
  s.heads = fields.integer("mamba_num_heads");
  s.head_dim = fields.integer("mamba_head_dim");
  s.state = fields.integer("ssm_state_size");
  s.groups = fields.integer(fields.has("mamba_n_groups") ? "mamba_n_groups" : "n_groups");
  s.kernel = fields.integer(fields.has("mamba_d_conv") ? "mamba_d_conv" : "conv_kernel");
  s.convolution_bias = fields.flag("use_conv_bias", true);
  if (fields.text("mamba_hidden_act", "silu") != "silu") {
    user_error("{}: mamba_hidden_act is {}; supported: silu", fields.file(),
               printable(fields.text("mamba_hidden_act", "")));
  }
  check_ssm(s, static_cast<int>(std::min<int64_t>(s.inner(), 1 << 30)),
            {fields.file(), "mamba_num_heads", "mamba_head_dim", "mamba_num_heads",
             "ssm_state_size", "n_groups", "conv_kernel"});
}

}  // namespace

void read_ssm(const ConfigFields& fields, Hybrid hybrid, ModelConfig& c) {
  for (const char* key : {"mamba_proj_bias", "projectors_bias"}) {
    if (fields.flag(key)) user_error("{}: {} is true, which is not supported", fields.file(), key);
  }
  refuse_step_limits(fields);
  if (hybrid == Hybrid::kAlone) return read_nemotron(fields, c);
  SsmShape& s = c.ssm;
  const bool own_inner = fields.has("mamba_d_ssm");
  const int64_t product = int64_t{fields.integer("mamba_expand")} * c.hidden;
  const int inner = own_inner ? fields.integer("mamba_d_ssm")
                              : static_cast<int>(std::min<int64_t>(product, 1 << 30));
  s.heads = fields.integer("mamba_n_heads");
  s.head_dim = size_of_head(fields, "mamba_d_head", inner, s.heads);
  s.state = fields.integer("mamba_d_state");
  s.groups = fields.integer("mamba_n_groups");
  s.kernel = fields.integer("mamba_d_conv");
  s.convolution_bias = fields.flag("mamba_conv_bias", true);
  if (hybrid == Hybrid::kBeside) {
    s.norm = !fields.flag("mamba_rms_norm")                ? SsmNorm::kNone
             : fields.flag("mamba_norm_before_gate", true) ? SsmNorm::kBeforeGate
                                                           : SsmNorm::kAfterGate;
  }
  check_ssm(s, inner,
            {fields.file(), "mamba_n_heads", "mamba_d_head",
             own_inner ? "mamba_d_ssm" : "mamba_expand * hidden_size", "mamba_d_state",
             "mamba_n_groups", "mamba_d_conv"});
}

void read_ssm(const GgufKeys& keys, const Checkpoint& checkpoint, ModelConfig& c) {
  SsmShape& s = c.ssm;
  const int inner = keys.size("ssm.inner_size");
  s.heads = keys.size("ssm.time_step_rank");
  s.head_dim = s.heads > 0 ? inner / s.heads : 0;
  s.state = keys.size("ssm.state_size");
  s.groups = keys.size("ssm.group_count");
  s.kernel = keys.size("ssm.conv_kernel");
  const auto has = [&](const char* tensor) {
    for (int l = 0; l < c.layers; ++l) {
      if (checkpoint.find(fmt::format("blk.{}.{}", l, tensor)) != nullptr) return true;
    }
    return false;
  };
  s.convolution_bias = has("ssm_conv1d.bias");
  s.norm = has("ssm_norm.weight") ? SsmNorm::kAfterGate : SsmNorm::kNone;
  const std::string heads = keys.key("ssm.time_step_rank"), width = keys.key("ssm.inner_size");
  check_ssm(s, inner,
            {keys.file(), heads, width + " / " + heads, width, keys.key("ssm.state_size"),
             keys.key("ssm.group_count"), keys.key("ssm.conv_kernel")});
}

}  // namespace longhaul
