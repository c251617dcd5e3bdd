#pragma once
// Defines the flags for a session: attention method, KV type, compute type, device, chunk size and
// limits.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/session.h"

namespace longhaul {

struct SessionFlags {
  std::string attention = "dense";
  std::string kv_type = "bf16";
  std::string compute = "best";
  std::string device = "auto";
  int chunk = 0;
  int64_t state_every = kStateEvery;
  int64_t context = 0;
  size_t memory_limit = 0;

  /// Selects the flags to add. Commands that have their own --attention or --ctx leave these flags
  /// out.
  enum class Set { kAll, kWithoutContext, kWithoutAttentionAndContext };
  void add_to(CLI::App& app, Set set = Set::kAll);
  /// Returns the options. Throws UserError for an unknown method or option, and for several
  /// methods. With --device auto, the result uses a GPU if there is one, even if the GPU cannot run
  /// the model. settle_place() checks this when the model is known.
  SessionOptions options() const;
  /// Decides where to run with --device auto. Changes all `options` to the CPU if the GPU does not
  /// support one of them, or if it has too little memory for `tokens` tokens and a reply of `reply`
  /// tokens.
  void settle_place(const std::shared_ptr<const Engine>& engine, std::span<SessionOptions> options,
                    int64_t tokens, int64_t reply = 0) const;
  /// Returns whether --compute requires a GPU. In this case, --device auto selects a GPU or fails.
  bool needs_gpu() const;

 private:
  Queue open_gpu() const;
};

/// Splits a list of methods: "dense,window:size=512,sinks=4" becomes "dense" and
/// "window:size=512,sinks=4". A comma starts a new method, unless an option of the previous method
/// follows it.
std::vector<std::string> split_methods(const std::string& list);

/// If a prompt of `tokens` tokens is too long for the model's trained context with the method of
/// `options`, returns the method that `longhaul advise` recommends. The result is empty if the
/// prompt is not too long, or if no method helps.
std::optional<std::string> method_beyond_training(const Engine& engine,
                                                  const SessionOptions& options, int64_t tokens);

/// Warns if tokens in a context of `tokens` tokens attend farther back than the trained context
/// length. The warning names methods whose default options avoid this. Returns whether it warned.
bool warn_beyond_training(const Engine& engine, const SessionOptions& options, int64_t tokens);

}  // namespace longhaul
