// longhaul serve: answers OpenAI, Anthropic and llama-server clients over HTTP.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/serve_flags.h"
#include "cli/service_manager.h"
#include "engine/model_names.h"
#include "http/server.h"
#include "serve/scheduler/mock_engine.h"
#include "serve/scheduler/sequence_engine.h"
#include "serve/service.h"

namespace longhaul {
namespace {

using serve::ServedModel;
using std::chrono::milliseconds;

constexpr milliseconds kDrain{30'000};
constexpr int kTickSeconds = 5;  // between two signs of life to the service manager
constexpr double kStuckSeconds = 60;

/// Signals that end the server are waited for by the main thread alone.
sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals, signal);
  return signals;
}

/// Ends the process at such a signal, as long as this object exists: nothing has to be drained
/// while the model is loaded.
class EndsWhileLoading {
 public:
  EndsWhileLoading() : thread_([this] { watch(); }) {}
  ~EndsWhileLoading() {
    done_ = true;
    thread_.join();
  }

 private:
  void watch() const {
    const sigset_t signals = ending_signals();
    while (!done_) {
      const timespec tick = {0, 20'000'000};
      const int signal = sigtimedwait(&signals, nullptr, &tick);
      if (signal > 0) _exit(128 + signal);
    }
  }

  std::atomic<bool> done_ = false;
  std::thread thread_;
};

void log_line(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

serve::ServiceOptions service_options(const ServeFlags& flags, serve::ApiKeys keys,
                                      std::shared_ptr<const ConverterProcess> converter) {
  serve::ServiceOptions options;
  options.converter = std::move(converter);
  options.origins = http::OriginCheck(flags.hosts, flags.origins);
  options.keys = std::move(keys);
  for (const std::string& name : split_commas(flags.metrics)) {
    if (name == "vllm") options.vllm_metrics = true;
    if (name == "llamacpp") options.llamacpp_metrics = true;
  }
  options.web = !flags.no_web;
  if (!flags.quiet) options.log = log_line;
  return options;
}

/// The listening sockets answer 503 until the model is there.
std::unique_ptr<http::Server> start_server(std::vector<http::ListeningSocket> sockets,
                                           std::shared_ptr<http::TlsIdentity> tls,
                                           serve::Service& service) {
  http::ServerOptions options;
  options.sockets = std::move(sockets);
  options.tls = std::move(tls);
  options.check = [&](const http::HttpRequest& request, http::Fields& fields) {
    return service.check(request, fields);
  };
  options.handle = [&](const std::shared_ptr<http::Exchange>& e) { service.handle(e); };
  options.done = [&](const http::RequestRecord& record) { service.done(record); };
  auto server = std::make_unique<http::Server>(std::move(options));
  server->start();
  return server;
}

std::unique_ptr<serve::EnginePort> make_port(const ServeFlags& flags,
                                             const std::shared_ptr<const Engine>& engine,
                                             const SessionOptions& session,
                                             const AdapterEngines& adapters) {
  if (!flags.mock) {
    return std::make_unique<serve::SequenceEngine>(engine, session, adapters, flags.cache_host,
                                                   flags.parallel);
  }
  serve::MockSettings settings;
  settings.virtual_time = false;
  settings.layer_seconds = settings.layer_seconds_depth = 0;
  settings.decode_seconds = settings.decode_seconds_row = 0;
  settings.vocab = engine->model().config.vocab;
  return std::make_unique<serve::MockEngine>(settings);
}

std::shared_ptr<ServedModel> make_model(const ServeFlags& flags,
                                        const std::shared_ptr<const Engine>& engine,
                                        const SessionOptions& session, size_t memory_limit) {
  auto model = std::make_shared<ServedModel>();
  const ModelShape& shape = engine->model().shape;
  model->name = flags.model_name();
  model->engine = engine;
  model->session = session;
  model->session.attention = session.attention.for_model(shape);
  model->offers = flags.offers(shape);
  for (auto& [name, files] : flags.adapters()) {
    model->adapters[name] = Engine::with_adapters(engine, files);
  }
  try {
    model->use_template(engine->chat_template(flags.chat_template));
  } catch (const UserError& error) {
    if (!flags.chat_template.empty()) throw;
    model->chat_problem = error.what();
  }
  model->sampler.temperature = flags.temperature;
  model->keep_billing_header = flags.keep_billing_header;
  model->kv_type = flags.session.kv_type;
  model->kernels = kernels_line(session);
  model->context = session.context;
  model->parallel = flags.parallel > 0 ? flags.parallel : session.queue.on_host() ? 8 : 64;
  model->memory_limit = memory_limit;
  model->port = make_port(flags, engine, model->session, model->adapters);
  return model;
}

/// One request of --ctx tokens has to fit, if that was asked for.
void check_context(const ServedModel& model) {
  if (model.context == 0) return;
  const size_t bytes =
      model.port->fixed_bytes() + model.port->most_bytes(model.session.attention, model.context, 0);
  if (bytes <= model.memory_limit) return;
  user_error("--ctx {}: a context of this length needs {} with {} attention, and the limit is {}",
             model.context, format_bytes(bytes), model.session.attention.text(),
             format_bytes(model.memory_limit));
}

void add_scheduler(const ServeFlags& flags, const serve::ApiKeys& keys, ServedModel& model,
                   serve::Metrics& metrics) {
  serve::SchedulerOptions options;
  options.memory_limit = model.memory_limit;
  options.context = model.context;
  options.running = model.parallel;
  options.queued = flags.queued;
  const bool adapts = flags.token_interval < 0 && model.session.queue.on_host();
  const double interval = (flags.token_interval < 0 ? 20 : flags.token_interval) / 1000.0;
  options.pause = {.least = interval, .most = adapts ? 5 * interval : interval};
  for (const serve::ApiKey& key : keys.keys()) options.keys[key.name] = {key.running, key.queued};
  options.offers = model.offers;
  options.cache_memory = flags.cache_memory;
  options.share_cache = flags.share_cache;
  options.exact_cache = flags.exact_cache;
  options.sleep_after = flags.sleep_after;
  model.scheduler = std::make_unique<serve::Scheduler>(*model.port, model.engine->tokenizer(),
                                                       std::move(options), metrics);
}

/// Snapshots of other models, KV types or chunks are of no use.
uint64_t cache_fingerprint(const ServedModel& model) {
  const std::string settings = model.kv_type + "/" + std::to_string(model.session.chunk);
  return model.engine->fingerprint() ^ std::hash<std::string>()(settings);
}

void open_cache_folder(const ServeFlags& flags, ServedModel& model) {
  if (flags.cache_dir.empty()) return;
  serve::DiskOptions options;
  options.folder = std::filesystem::absolute(flags.cache_dir);
  options.most_bytes = flags.cache_disk;
  options.fingerprint = cache_fingerprint(model);
  model.cache_folder = options.folder;
  model.cache_fingerprint = options.fingerprint;
  for (const auto& [name, adapted] : model.adapters) {
    options.adapters[name] = adapted->fingerprint();
  }
  options.log = log_line;
  model.scheduler->open_disk(std::move(options));
}

std::string url_of(const http::ListeningSocket& socket, bool tls) {
  if (socket.name.starts_with("unix:")) return socket.name;
  return (tls ? "https://" : "http://") + socket.name;
}

/// The settings by which programs find this server.
void print_clients(const std::string& url, const std::string& model, const std::string& key) {
  fmt::print("OpenAI       export OPENAI_BASE_URL={}/v1 OPENAI_API_KEY={}\n", url, key);
  fmt::print(
      "Claude Code  export ANTHROPIC_BASE_URL={} ANTHROPIC_AUTH_TOKEN={} ANTHROPIC_MODEL={} "
      "ANTHROPIC_DEFAULT_HAIKU_MODEL={}\n",
      url, key, model, model);
  fmt::print(
      "Codex        codex -m {} -c model_provider=longhaul -c "
      "model_providers.longhaul.name=longhaul "
      "-c model_providers.longhaul.base_url={}/v1 -c model_providers.longhaul.wire_api=responses"
      "{}\n",
      model, url, key == "none" ? "" : " -c model_providers.longhaul.env_key=LONGHAUL_KEY");
  fmt::print("Ollama       export OLLAMA_HOST={}{}\n", url,
             url.ends_with(":11434") ? ""
                                     : "; for programs with a fixed port: --listen "
                                       "127.0.0.1:11434");
  fmt::print(
      "curl         curl {}/v1/chat/completions -H 'Content-Type: application/json'{} -d "
      "'{{\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'\n",
      url, key == "none" ? "" : " -H 'Authorization: Bearer " + key + "'");
}

void print_start(const ServedModel& model, const std::vector<std::string>& urls, bool keys,
                 bool web) {
  const size_t fixed = model.port->fixed_bytes();
  const size_t left = model.memory_limit > fixed ? model.memory_limit - fixed : 0;
  for (const std::string& url : urls) fmt::print("listening    {}\n", url);
  fmt::print("model        {} ({} attention, {} keys and values, {})\n", model.name,
             model.session.attention.text(), model.kv_type, model.kernels);
  for (const auto& [name, engine] : model.adapters) {
    fmt::print("adapter      {}+{}\n", model.name, name);
  }
  fmt::print("memory left  {} for keys and values\n", format_bytes(left));
  if (const size_t host = model.port->host_use().limit; host > 0) {
    fmt::print("host memory  {} for the prefix cache\n", format_bytes(host));
  }
  if (urls.empty() || urls.front().starts_with("unix:")) {
    std::fflush(stdout);
    return;
  }
  if (web) fmt::print("web page     {}/\n", urls.front());
  print_clients(urls.front(), model.name, keys ? "YOUR_KEY" : "none");
  std::fflush(stdout);
}

/// The thread that computes; it ends with this object.
class EngineThread {
 public:
  explicit EngineThread(serve::Scheduler& scheduler)
      : scheduler_(scheduler), thread_([&scheduler] { scheduler.run(); }) {}
  ~EngineThread() {
    scheduler_.stop();
    thread_.join();
  }

 private:
  serve::Scheduler& scheduler_;
  std::thread thread_;
};

/// New connections get the certificate that the files have now.
void reload_certificate(const ServeFlags& flags, http::Server& server) {
  try {
    if (auto tls = flags.tls()) server.use_tls(std::move(tls));
    log_line("SIGHUP: certificate and key are read again");
  } catch (const UserError& error) {
    log_line(fmt::format("SIGHUP: the earlier certificate stays: {}", error.what()));
  }
}

/// Until an ending signal comes; SIGHUP reads the certificate again. Tells the manager that the
/// engine works.
void await_signal(const ServeFlags& flags, const serve::Scheduler& scheduler,
                  const ServiceManager& manager, http::Server& server) {
  sigset_t signals = ending_signals();
  if (!flags.tls_certificate.empty()) sigaddset(&signals, SIGHUP);
  for (;;) {
    const timespec tick = {kTickSeconds, 0};
    const int signal = sigtimedwait(&signals, nullptr, &tick);
    if (signal == SIGHUP) {
      reload_certificate(flags, server);
    } else if (signal > 0) {
      return;
    }
    if (scheduler.seconds_since_turn() < kStuckSeconds) manager.tell("WATCHDOG=1");
  }
}

/// Lets open answers end, for half a minute or until a second signal.
void drain(serve::Service& service, serve::Scheduler& scheduler, http::Server& server) {
  service.shut_down();
  scheduler.drain();
  server.drain();
  const sigset_t signals = ending_signals();
  const auto end = http::Clock::now() + kDrain;
  while (http::Clock::now() < end && !(scheduler.idle() && server.await_end(milliseconds(0)))) {
    const timespec tick = {0, 50'000'000};
    if (sigtimedwait(&signals, nullptr, &tick) > 0) return;
  }
}

int serve_clients(const ServeFlags& flags) {
  flags.check();
  flags.make_cache_folder();
  SessionOptions session = flags.session.options();
  flags.check_cache_host(session.queue);
  session.chunk = session.chunk > 0 || !session.queue.on_host() ? session.chunk : 512;
  const serve::ApiKeys keys = flags.keys();
  const auto tls = flags.tls();
  auto sockets = flags.sockets(!keys.empty());
  std::vector<std::string> urls;
  for (const http::ListeningSocket& socket : sockets)
    urls.push_back(url_of(socket, tls != nullptr));
  const ServiceManager manager;
  sigset_t signals = ending_signals();
  if (tls) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  size_t memory_limit =
      session.memory_limit > 0 ? session.memory_limit : available_memory_bytes() / 10 * 9;

  // The process for documents ends with the last user of it, and starts before any thread.
  auto converter =
      std::make_shared<const ConverterProcess>(ConverterLimits{.sandbox = !flags.sandbox.unwanted});
  std::unique_ptr<serve::Service> service;
  std::unique_ptr<http::Server> server;
  std::optional<EndsWhileLoading> ends_while_loading;
  std::string sandbox = "off";
  const auto engine = flags.model.open([&] {
    if (flags.sandbox.asked || session.queue.on_host()) {
      flags.sandbox.enter(flags.written_folders(), flags.quiet, {.connections = true});
      sandbox = flags.sandbox.unwanted ? "off" : "on";
    }
    service = std::make_unique<serve::Service>(service_options(flags, keys, converter));
    server = start_server(std::move(sockets), tls, *service);
    ends_while_loading.emplace();
  });
  flags.session.settle_place(engine, {&session, 1}, std::max<int64_t>(session.context, 1));
  if (session.memory_limit == 0 && !session.queue.on_host()) {
    memory_limit = serve::usual_device_limit(*engine, session.queue);
  }
  auto model = make_model(flags, engine, session, memory_limit);
  model->sandbox = sandbox;
  check_context(*model);
  add_scheduler(flags, keys, *model, service->metrics());
  open_cache_folder(flags, *model);
  ends_while_loading.reset();
  service->set_model(model);
  std::optional<EngineThread> engine_thread(std::in_place, *model->scheduler);
  print_start(*model, urls, !keys.empty(), !flags.no_web);
  manager.tell("READY=1");
  await_signal(flags, *model->scheduler, manager, *server);
  manager.tell("STOPPING=1");
  drain(*service, *model->scheduler, *server);
  engine_thread.reset();
  server.reset();
  return kExitOk;
}

}  // namespace

Command add_serve_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "serve", "Answer OpenAI, Anthropic and llama-server clients over HTTP");
  auto flags = std::make_shared<ServeFlags>();
  flags->add_to(*app);
  app->footer(
      "Examples:\n"
      "  longhaul serve -m smollm2\n"
      "  longhaul serve -m model.gguf --ctx 131072 --offer duo,infllm --parallel 4\n"
      "  longhaul serve -m model.gguf --listen 0.0.0.0:8443 --api-key-file keys --tls-cert c.pem "
      "--tls-key k.pem");
  return {app, [app, flags] {
            // Like `run`, plain `serve` does not answer with the test model.
            const bool named = app->get_option("--model")->count() > 0 ||
                               app->get_option("--hf-repo")->count() > 0;
            if (!named) flags->model.model = chat_model();
            return serve_clients(*flags);
          }};
}

}  // namespace longhaul
