#pragma once
// Flags for a context: attention method, KV type, chunk, limits.

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

  /// Commands that use --attention and --ctx with another meaning omit them.
  enum class Set { kAll, kWithoutContext, kWithoutAttentionAndContext };
  void add_to(CLI::App& app, Set set = Set::kAll);
  /// Throws UserError for an unknown method or option, and for several methods. With --device auto
  /// the queue may be a GPU's that cannot run the model; settle_place() decides.
  SessionOptions options() const;
  /// For --device auto: moves all options to the CPU if one of them cannot run on the GPU found, or
  /// has not enough memory there for `tokens` tokens and a reply.
  void settle_place(const std::shared_ptr<const Engine>& engine, std::span<SessionOptions> options,
                    int64_t tokens, int64_t reply = 0) const;
  /// Whether --compute requires a GPU: --device auto then selects one or fails.
  bool needs_gpu() const;

 private:
  Queue open_gpu() const;
};

/// "dense,window:size=512,sinks=4" -> "dense", "window:size=512,sinks=4": a comma starts a new
/// method unless a further option of the previous one follows.
std::vector<std::string> split_methods(const std::string& list);

/// The method that `advise` would recommend for a prompt that is too long for this model with the
/// method of `options`; none if it is not too long, or nothing helps.
std::optional<std::string> method_beyond_training(const Engine& engine,
                                                  const SessionOptions& options, int64_t tokens);

/// Warns if rows in a context of `tokens` tokens see farther back than the trained context, and
/// names the methods whose rows, by default, do not. Returns whether it warned.
bool warn_beyond_training(const Engine& engine, const SessionOptions& options, int64_t tokens);

}  // namespace longhaul
