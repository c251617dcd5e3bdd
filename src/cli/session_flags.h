#pragma once
// Flags for a context: attention method, KV type, chunk size and limits.

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

  /// The set of flags to add. Commands in which --attention or --ctx has another meaning omit them.
  enum class Set { kAll, kWithoutContext, kWithoutAttentionAndContext };
  void add_to(CLI::App& app, Set set = Set::kAll);
  /// Returns the options. Throws UserError for an unknown method or option, and for several
  /// methods. With --device auto, the queue may be that of a GPU that cannot run the model;
  /// settle_place() decides this.
  SessionOptions options() const;
  /// Completes --device auto. Changes all options to the CPU if some of them cannot run on the GPU,
  /// or if the GPU has too little memory for `tokens` tokens and a reply.
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

/// Returns the method that `advise` would recommend if a prompt is too long for this model with the
/// method of `options`. The result is empty if it is not too long, or if no method helps.
std::optional<std::string> method_beyond_training(const Engine& engine,
                                                  const SessionOptions& options, int64_t tokens);

/// Warns if rows in a context of `tokens` tokens see farther back than the trained context length.
/// The warning names methods whose default options avoid this. Returns whether it warned.
bool warn_beyond_training(const Engine& engine, const SessionOptions& options, int64_t tokens);

}  // namespace longhaul
