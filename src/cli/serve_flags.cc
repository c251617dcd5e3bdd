#include "cli/serve_flags.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "cli/flags.h"
#include "http/byte_stream.h"
#include "kv/host_blocks.h"
#include "text/printable.h"

namespace longhaul {

void ServeFlags::add_to(CLI::App& app) {
  const std::string server = "Server";
  model.add_to(app);
  session.add_to(app);
  sandbox.add_to(app);
  add_path(app, "--chat-template", chat_template, "NAME|FILE",
           "Use this template (docs/cli.md lists the names) or Jinja file, not the model's own")
      ->group(server);
  app.add_option("--listen", listen,
                 "Where clients come: ADDRESS:PORT, unix:PATH or systemd; may be given several "
                 "times (127.0.0.1:8080)")
      ->type_name("ADDRESS")
      ->allow_extra_args(false)
      ->group(server);
  add_text(app, "--offer", offer, "METHOD,...",
           "Further attention methods that clients may name; default: any that needs no file")
      ->group(server);
  app.add_option("--offer-adapter", offered_adapters,
                 "A LoRA adapter that clients may name: they send MODEL+NAME as the model. May be "
                 "given several times, with one NAME for files that are used together")
      ->type_name("NAME=FILE[:SCALE]")
      ->allow_extra_args(false)
      ->group(server);
  add_text(app, "--alias", alias, "NAME", "The model's name for clients")->group(server);
  add_number(app, "--parallel", parallel, 0, 1024,
             "Most requests that run at a time; 0: 8 on a CPU, 64 on a GPU")
      ->group(server);
  add_number(app, "--queue", queued, 1, 100'000, "Most requests that wait")->group(server);
  add_number(
      app, "--token-interval", token_interval, 0, 10'000,
      "Milliseconds between two tokens of a reply while a prompt is read; default: 20 on a GPU, "
      "and 20 to 200 on a CPU, where replies then take about a tenth of the time")
      ->group(server);
  add_number(app, "--temp", temperature, 0.0f, 100.0f,
             "Temperature of requests that name none; 0: always the likeliest token")
      ->group(server);
  add_size(app, "--cache-memory", cache_memory,
           "Most memory of the prefix cache; default: half of what the weights leave")
      ->group(server);
  add_size(app, "--cache-host", cache_host,
           "On a GPU: host memory to which the prefix cache moves what the GPU has no room for")
      ->group(server);
  add_path(app, "--cache-dir", cache_dir, "FOLDER",
           "Keep the prefix cache and saved sessions here too; they survive a restart")
      ->group(server);
  app.add_option("--sleep-after", sleep_after,
                 "Idle seconds after which keys and values are on disk only; needs --cache-dir")
      ->check(CLI::Range(0.0, 1e9))
      ->type_name("S")
      ->group(server);
  add_size(app, "--cache-disk", cache_disk, "Most bytes of the folder of --cache-dir")
      ->group(server);
  app.add_flag("--share-cache", share_cache,
               "Let all API keys reuse each other's prefilled prompts: times then show which "
               "prompts others have sent")
      ->group(server);
  app.add_flag("--exact-cache", exact_cache,
               "Reuse only where the reply is bit-identical to one without a cache")
      ->group(server);
  add_path(app, "--api-key-file", api_key_file, "FILE",
           "Lines of NAME SHA256 [running=N] [queued=N]: only requests with such a key are "
           "answered")
      ->group(server);
  add_path(app, "--tls-cert", tls_certificate, "FILE", "Certificate chain (PEM)")->group(server);
  add_path(app, "--tls-key", tls_key, "FILE", "Its private key (PEM)")->group(server);
  app.add_option("--cors-origin", origins,
                 "Pages of this origin may use the server; may be given several times; *: any")
      ->type_name("URL")
      ->allow_extra_args(false)
      ->group(server);
  app.add_option("--allow-host", hosts,
                 "A name of this machine by which clients address it; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(server);
  app.add_flag("--open", open, "Let everybody who reaches the address use the server without a key")
      ->group(server);
  app.add_flag("--keep-billing-header", keep_billing_header,
               "Keep the first system block of Claude Code, which changes with each request and "
               "prevents reuse of earlier prompts")
      ->group(server);
  add_text(app, "--metrics", metrics, "vllm,llamacpp",
           "Also count under the names of these servers")
      ->group(server);
  app.add_flag("--no-web", no_web, "No web page at /")->group(server);
  app.add_flag("-q,--quiet", quiet, "No line for each request")->group(server);
#ifdef LONGHAUL_MOCK_ENGINE
  app.add_flag("--mock", mock, "For tests: replies cost no computation")->group("");
#endif
}

void ServeFlags::check() const {
  adapters();
  if (tls_certificate.empty() != tls_key.empty()) {
    user_error("--tls-cert and --tls-key: one does not work without the other");
  }
  for (const std::string& name : split_commas(metrics)) {
    if (!name.empty() && name != "vllm" && name != "llamacpp") {
      user_error("--metrics {}: neither vllm nor llamacpp", printable(name));
    }
  }
  for (const std::string& origin : origins) {
    if (origin != "*" && origin.find("://") == std::string::npos) {
      user_error("--cors-origin {}: an origin is such as https://chat.example", printable(origin));
    }
  }
}

serve::ApiKeys ServeFlags::keys() const {
  return api_key_file.empty() ? serve::ApiKeys() : serve::ApiKeys::read(api_key_file);
}

std::shared_ptr<http::TlsIdentity> ServeFlags::tls() const {
  return tls_certificate.empty() ? nullptr : http::read_tls_identity(tls_certificate, tls_key);
}

std::vector<http::ListeningSocket> ServeFlags::sockets(bool has_keys) const {
  std::vector<http::ListeningSocket> all;
  const std::vector<std::string> addresses =
      listen.empty() ? std::vector<std::string>{"127.0.0.1:8080"} : listen;
  for (const std::string& address : addresses) {
    for (http::ListeningSocket& socket : http::open_listening_sockets(address)) {
      if (!socket.loopback && !has_keys && !open) {
        user_error(
            "--listen {}: others reach this address; give --api-key-file, or --open to let "
            "everybody use the server",
            address);
      }
      all.push_back(std::move(socket));
    }
  }
  return all;
}

std::vector<MethodSpec> ServeFlags::offers(const ModelShape& shape) const {
  std::vector<MethodSpec> specs;
  if (offer.empty()) return specs;
  for (const std::string& name : split_methods(offer)) {
    specs.push_back(MethodSpec::parse(name).for_model(shape));
    specs.back().make(shape);  // refuses what this model cannot run
  }
  return specs;
}

std::map<std::string, std::vector<AdapterSource>> ServeFlags::adapters() const {
  constexpr const char* kFlag = "--offer-adapter";
  constexpr size_t kLongestName = 64;
  std::map<std::string, std::vector<AdapterSource>> all;
  for (const std::string& text : offered_adapters) {
    const size_t split = text.find('=');
    const std::string name = text.substr(0, split);
    const bool plain = std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    });
    if (split == std::string::npos || name.empty() || name.size() > kLongestName || !plain) {
      user_error("{} {}: not NAME=FILE with a name of letters, digits, '-', '_' and '.'", kFlag,
                 printable(text));
    }
    all[name].push_back(parse_adapter(kFlag, text.substr(split + 1)));
  }
  return all;
}

std::string ServeFlags::model_name() const {
  if (!alias.empty()) return alias;
  const std::filesystem::path path(model.model);
  const std::string name = path.filename().string();
  return name.ends_with(".gguf") ? path.stem().string() : name;
}

void ServeFlags::check_cache_host(const Queue& queue) const {
  if (cache_host == 0) return;
  if (queue.on_host()) {
    user_error("--cache-host: does nothing without a GPU; --cache-memory bounds the prefix cache");
  }
  if (queue.ranks() > 1) user_error("--cache-host: only one GPU may be used with it");
  if (cache_host < HostBlocks::kBlockBytes) {
    user_error("--cache-host {}: must be at least {}", format_bytes(cache_host),
               format_bytes(HostBlocks::kBlockBytes));
  }
  const size_t free = available_memory_bytes();
  if (cache_host > free) {
    user_error("--cache-host {}: more than the {} of host memory that are free",
               format_bytes(cache_host), format_bytes(free));
  }
}

void ServeFlags::make_cache_folder() const {
  if (cache_dir.empty()) {
    if (cache_disk > 0) user_error("--cache-disk: does nothing without --cache-dir");
    if (sleep_after > 0) user_error("--sleep-after: does nothing without --cache-dir");
    return;
  }
  umask(0077);
  std::error_code problem;
  std::filesystem::create_directories(cache_dir, problem);
  if (problem) user_error("--cache-dir {}: {}", printable(cache_dir), problem.message());
  std::filesystem::permissions(cache_dir, std::filesystem::perms::owner_all, problem);
}

std::vector<std::filesystem::path> ServeFlags::written_folders() const {
  if (cache_dir.empty()) return {};
  return {std::filesystem::absolute(cache_dir)};
}

}  // namespace longhaul
