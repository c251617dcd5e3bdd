#include "cli/sampling_flags.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <random>

#include "base/error.h"
#include "cli/flags.h"

namespace longhaul {

void SamplingFlags::add_to(CLI::App& app) {
  const std::string group = "Reply";
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  add_number<int64_t>(app, "-n,--tokens", max_tokens, -1, kMost,
                      "Most tokens of the reply; -1: until it ends; 0: only prefill")
      ->group(group);
  temperature_ =
      add_number(app, "--temp", sampler.temperature, 0.0f, 100.0f,
                 "Temperature; 0: always the most likely token, best for questions about a text")
          ->group(group);
  top_k_ = add_number(app, "--top-k", sampler.top_k, -1, 1 << 30,
                      "Keep the k most likely tokens; 0 or -1: all")
               ->group(group);
  top_p_ = add_number(app, "--top-p", sampler.top_p, 0.0f, 1.0f,
                      "Keep the most likely tokens that have this share together; 1: all")
               ->group(group);
  min_p_ = add_number(app, "--min-p", sampler.min_p, 0.0f, 1.0f,
                      "Keep tokens at least this likely, relative to the most likely; 0: all")
               ->group(group);
  penalty_ = add_number(app, "--repeat-penalty", sampler.repeat_penalty, 0.01f, 100.0f,
                        "Above 1: make recent tokens less likely")
                 ->group(group);
  penalty_last_ = add_number(app, "--repeat-last", sampler.repeat_last, 0, 1 << 30,
                             "Recent tokens that --repeat-penalty covers")
                      ->group(group);
  seed_ = add_number<uint64_t>(app, "--seed", sampler.seed, 0, uint64_t{1} << 62,
                               "The same seed gives the same reply; default: a new one each time")
              ->default_str("")
              ->group(group);
  app.add_flag("--loops", loops, "Do not stop repetitive replies at --temp 0")->group(group);
  app.add_option("--stop", stop, "End the reply before this text; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group(group);
}

bool SamplingFlags::take_defaults(const SamplerOptions& defaults) {
  if (temperature_->count() > 0) return false;
  sampler.temperature = defaults.temperature;
  if (top_k_->count() == 0) sampler.top_k = defaults.top_k;
  if (top_p_->count() == 0) sampler.top_p = defaults.top_p;
  if (min_p_->count() == 0) sampler.min_p = defaults.min_p;
  if (penalty_->count() == 0) sampler.repeat_penalty = defaults.repeat_penalty;
  if (penalty_last_->count() == 0) sampler.repeat_last = defaults.repeat_last;
  return true;
}

GenerateOptions SamplingFlags::options(const CancelFlag* cancel) const {
  GenerateOptions options;
  options.sampler = sampler;
  if (seed_->count() == 0 && sampler.temperature > 0) options.sampler.seed = std::random_device{}();
  options.max_tokens = max_tokens;
  options.stop_loops = !loops;
  for (const std::string& text : stop) {
    if (text.empty()) user_error("--stop: an empty text");
  }
  options.stop = stop;
  options.cancel = cancel;
  return options;
}

}  // namespace longhaul
