// longhaul bench: speed and memory, compared with the machine's peak.

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "attention/method_spec.h"
#include "base/error.h"
#include "base/system_info.h"
#include "base/units.h"
#include "bench/device_peak.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/session_flags.h"

namespace longhaul {
namespace {

constexpr int64_t kLongest = int64_t{1} << 40;

struct BenchFlags {
  ModelFlags model;
  SessionFlags session;
  std::string attention = "dense";
  std::vector<int64_t> prompts{512, 2048, 8192};
  std::vector<int64_t> depths{0, 8192};
  int64_t steps = 64;
  std::vector<int64_t> sessions;  ///< decoded together; empty: not measured
  std::string mix;
  bool check = false;
  int repeat = 3;
  bool no_machine = false;
  bool json = false;
  bool quiet = false;
};

void note(const BenchFlags& flags, const std::string& line) {
  if (!flags.json && !flags.quiet) std::fprintf(stderr, "%s\n", line.c_str());
}

MethodSpeeds bench_method(const BenchFlags& flags, const std::shared_ptr<const Engine>& engine,
                          const SessionOptions& options, Interrupt& interrupt) {
  MethodSpeeds speeds;
  speeds.attention = options.attention.text();
  std::vector<int64_t> depths = flags.depths;
  for (const int64_t prompt : flags.prompts) {
    if (interrupt.requested()) return speeds;
    const bool decodes = flags.steps > 0 && std::erase(depths, prompt) > 0;
    note(flags, fmt::format("{}: prefill of {} tokens{} ...", speeds.attention, with_commas(prompt),
                            decodes ? " and decode" : ""));
    DecodeSpeed decode{.depth = prompt, .steps = flags.steps};
    const PrefillSpeed speed = bench_prefill(engine, options, prompt, flags.repeat,
                                             &interrupt.flag(), decodes ? &decode : nullptr);
    if (speed.tokens_per_second.median <= 0) continue;
    speeds.prefill.push_back(speed);
    if (decodes) speeds.decode.push_back(decode);
  }
  if (interrupt.requested() || flags.steps == 0 || depths.empty()) return speeds;
  note(flags,
       fmt::format("{}: decode of {} tokens ...", speeds.attention, with_commas(flags.steps)));
  for (const DecodeSpeed& speed :
       bench_decode(engine, options, depths, flags.steps, flags.repeat, &interrupt.flag())) {
    speeds.decode.push_back(speed);
  }
  std::sort(speeds.decode.begin(), speeds.decode.end(),
            [](const DecodeSpeed& a, const DecodeSpeed& b) { return a.depth < b.depth; });
  return speeds;
}

/// With any of --prompt, --depth and --gen only these are measured: --gen alone decodes from an
/// empty context, --depth alone decodes the default number of tokens.
void measure_only(BenchFlags& flags, const CLI::App& app) {
  const auto asked = [&app](const char* name) { return app.get_option(name)->count() > 0; };
  const bool prompts = asked("--prompt"), depths = asked("--depth"), steps = asked("--gen");
  if (flags.sessions.empty()) {
    if (!flags.mix.empty())
      user_error("--mix: names the methods of --sessions, which is not given");
    if (flags.check) user_error("--check: checks --sessions, which is not given");
  } else {
    if (prompts) user_error("--prompt: --sessions only decodes; its contexts are --depth");
    if (flags.steps == 0) user_error("--gen 0: --sessions has nothing to decode");
    if (!depths) flags.depths = {512};
    for (int64_t& depth : flags.depths) depth = std::max<int64_t>(depth, 1);
    flags.prompts.clear();
    return;
  }
  if (!prompts && !depths && !steps) return;
  if (!prompts) flags.prompts.clear();
  if (!depths) flags.depths.clear();
  if (!depths && steps) flags.depths = {0};
  if (flags.steps == 0) flags.depths.clear();
  if (flags.prompts.empty() && flags.depths.empty()) {
    user_error("--gen 0: nothing is left to measure; name lengths with --prompt");
  }
}

int64_t longest_of(const BenchFlags& flags) {
  int64_t longest = 1;
  for (const int64_t length : flags.prompts) longest = std::max(longest, length);
  for (const int64_t depth : flags.depths) longest = std::max(longest, depth);
  return longest;
}

/// Checks all methods before the first is measured, which may take minutes.
void check_methods(const BenchFlags& flags, const Engine& engine,
                   const std::vector<SessionOptions>& methods) {
  const int64_t longest = longest_of(flags);
  for (const SessionOptions& options : methods) {
    check_method(options.attention, engine.model().shape, options.kv_type,
                 {.tokens = longest,
                  .instruction = std::min(longest, kBenchInstruction),
                  .chunk = options.chunk});
  }
}

/// --sessions: several sequences are decoded together, and nothing else is measured.
void bench_sessions(const BenchFlags& flags, std::span<const SessionOptions> methods,
                    const std::shared_ptr<const Engine>& engine, Interrupt& interrupt,
                    BenchResults& results) {
  const BatchBench what{flags.sessions, flags.depths, flags.steps, flags.repeat, flags.check};
  check_batches_fit(engine, methods, what);
  for (const SessionOptions& options : methods) {
    results.mix += (results.mix.empty() ? "" : ",") + options.attention.text();
  }
  note(flags,
       fmt::format("{}: batches of {} sessions ...", results.mix, fmt::join(flags.sessions, ", ")));
  results.batches = bench_batches(engine, methods, what, &interrupt.flag());
}

/// Each row resets the process's peak; the peak of the whole run is the largest of the rows.
size_t most_resident(const BenchResults& results, size_t before_methods) {
  size_t most = std::max(before_methods, peak_resident_bytes());
  for (const BatchSpeed& b : results.batches) most = std::max(most, b.peak_bytes.value_or(0));
  for (const MethodSpeeds& m : results.methods) {
    for (const PrefillSpeed& p : m.prefill) most = std::max(most, p.peak_bytes.value_or(0));
    for (const DecodeSpeed& d : m.decode) most = std::max(most, d.peak_bytes.value_or(0));
  }
  return most;
}

int run(const BenchFlags& flags) {
  std::vector<SessionOptions> methods;
  for (const std::string& method : split_methods(flags.mix.empty() ? flags.attention : flags.mix)) {
    SessionFlags session = flags.session;
    session.attention = method;
    methods.push_back(session.options());
  }
  const auto engine = flags.model.open();
  for (SessionOptions& options : methods) {
    options.attention = options.attention.for_model(engine->model().shape);
  }
  check_methods(flags, *engine, methods);
  flags.session.settle_place(engine, methods, longest_of(flags) + flags.steps);
  Interrupt interrupt;
  BenchResults results;
  results.engine = engine.get();
  results.session = methods.front();
  results.repeat = flags.repeat;
  warm_up(engine, methods.front());
  const size_t before_methods = peak_resident_bytes();
  if (flags.sessions.empty()) {
    for (const SessionOptions& options : methods) {
      results.methods.push_back(bench_method(flags, engine, options, interrupt));
    }
  } else {
    bench_sessions(flags, methods, engine, interrupt, results);
  }
  results.peak_bytes = most_resident(results, before_methods);
  results.cancelled = interrupt.requested();
  if (!flags.no_machine && !results.cancelled) {
    note(flags, "the machine itself ...");
    const Queue& queue = results.session.queue;
    results.machine =
        queue.on_host()
            ? measure_machine(engine->model(), results.session.compute, read_test_bytes())
            : measure_device(queue, engine->model(), results.session.compute);
  }
  if (flags.json) {
    print_json(bench_json(results));
  } else {
    std::fputs(("\n" + bench_text(results)).c_str(), stdout);
  }
  return results.cancelled ? kExitCancelled : kExitOk;
}

}  // namespace

Command add_bench_command(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("bench", "Speed and memory, beside the machine's own peak");
  auto flags = std::make_shared<BenchFlags>();
  flags->model.add_to(*app);
  add_number_list(*app, "--prompt", flags->prompts, 1, kLongest,
                  "Prompt lengths to prefill, tokens");
  add_number_list(*app, "--depth", flags->depths, 0, kLongest,
                  "Tokens in the context before decoding");
  add_number<int64_t>(*app, "--gen", flags->steps, 0, kLongest, "Tokens to decode at each depth");
  add_number(*app, "-r,--repeat", flags->repeat, 1, 1000, "Repetitions of each");
  add_text(*app, "--attention", flags->attention, "METHOD,...",
           "Attention methods, compared on the same tokens");
  add_number_list(*app, "--sessions", flags->sessions, 1, 1 << 20,
                  "Sessions that are decoded together, at each depth; measures nothing else");
  add_text(*app, "--mix", flags->mix, "METHOD,...",
           "Attention methods, given to the sessions in turn");
  app->add_flag("--check", flags->check,
                "Decode each session once more alone and compare the bits of all logits");
  flags->session.add_to(*app, SessionFlags::Set::kWithoutAttentionAndContext);
  app->add_flag("--no-machine", flags->no_machine, "Do not measure the machine's own peaks");
  app->add_flag("--json", flags->json, "One JSON object on standard output");
  app->add_flag("-q,--quiet", flags->quiet, "No progress lines");
  app->footer(
      "Without --prompt, --depth and --gen all defaults are measured; otherwise only the named\n"
      "ones. --gen alone decodes from an empty context.\n"
      "Example:\n"
      "  longhaul bench -m smollm2 --prompt 512,2048,8192 --gen 64 --depth 0,8192\n"
      "  longhaul bench -m smollm2 --sessions 1,2,4,8 --depth 512 --mix dense,duo,h2o");
  return {app, [flags, app] {
            measure_only(*flags, *app);
            return run(*flags);
          }};
}

}  // namespace longhaul
