#pragma once
// Defines the flags of `longhaul serve`.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "cli/sandbox_flags.h"
#include "cli/session_flags.h"
#include "http/server.h"
#include "serve/api_keys.h"
#include "serve/scheduler/scheduler.h"

namespace longhaul {

struct ServeFlags {
  ModelFlags model;
  SessionFlags session;
  SandboxFlags sandbox;
  std::string chat_template;  ///< a name or a file; empty: the model's own template
  std::vector<std::string> listen;
  std::string offer, alias, metrics;
  std::vector<std::string> offered_adapters;  ///< NAME=FILE[:SCALE]
  std::string api_key_file, tls_certificate, tls_key;
  std::vector<std::string> origins, hosts;
  bool open = false, quiet = false, no_web = false, keep_billing_header = false;
  int parallel = 0;  ///< largest number of running requests; 0: 8 on a CPU, 64 on a GPU
  int queued = 64;
  /// Pause between two decode steps in milliseconds. Negative: 20 on a GPU, and on a CPU 20 to 200,
  /// or as long as a step that takes more (DecodePause).
  int token_interval = -1;
  float temperature = 0;
  /// Largest size of the prefix cache in bytes. 0: the default of SchedulerOptions::cache_memory.
  size_t cache_memory = 0;
  /// Bytes of host memory for snapshots that leave a device; 0: none.
  size_t cache_host = 0;
  std::string cache_dir;
  size_t cache_disk = 0;   ///< limit of the size of cache_dir in bytes; 0: no limit
  double sleep_after = 0;  ///< idle seconds after which memory is freed; 0: never
  bool share_cache = false, exact_cache = false;
  bool mock = false;  ///< whether to use an engine that computes nothing; only in builds with tests

  void add_to(CLI::App& app);

  /// Throws UserError for invalid or contradictory flags. This check does not depend on the model.
  void check() const;
  serve::ApiKeys keys() const;
  std::shared_ptr<http::TlsIdentity> tls() const;
  /// Opens the listening sockets. Throws UserError if an address can be reached from other
  /// machines, but there are no API keys (`has_keys`) and --open is not given.
  std::vector<http::ListeningSocket> sockets(bool has_keys) const;
  /// Returns the files of each offered adapter, by the name of the adapter. Throws UserError if a
  /// value of the flag is invalid.
  std::map<std::string, std::vector<AdapterSource>> adapters() const;
  std::vector<MethodSpec> offers(const ModelShape& shape) const;
  std::string model_name() const;
  /// Checks --cache-host. Throws UserError.
  void check_cache_host(const Queue& queue) const;
  /// Creates the folder of --cache-dir with access for its owner only. Throws UserError.
  void make_cache_folder() const;
  std::vector<std::filesystem::path> written_folders() const;
};

}  // namespace longhaul
