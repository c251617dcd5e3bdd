// longhaul eval: quality, speed and memory for any model and any set of methods.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "attention/profile.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/units.h"
#include "cli/build_id.h"
#include "cli/command.h"
#include "cli/eval_list.h"
#include "cli/eval_progress.h"
#include "cli/eval_report.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/own_command.h"
#include "cli/profile_file.h"
#include "cli/prompt_flags.h"
#include "cli/session_flags.h"
#include "cli/work_folder.h"
#include "eval/runner.h"
#include "ops/core/isa/isa.h"
#include "report/text_formats.h"
#include "report/unfounded.h"

namespace longhaul {
namespace {

constexpr int64_t kLongestPrompt = int64_t{1} << 26;  // a prompt is composed before it is refused

constexpr int kUsuallyTogether = 8;  // rows that share one product

struct EvalFlags {
  ModelFlags model;
  SessionFlags session;
  std::vector<std::string> tasks;
  std::string attention = "dense";
  std::vector<int64_t> lengths;
  int samples = 20;
  uint64_t seed = 1;
  std::string openings = "both";
  bool controls = false;
  double kept = 0.25;
  int parallel = 1;
  int together = 0;  ///< 0: as many as usual
  std::string out, data, shard;
  PromptForm form;
  int simulated = 0;
  bool inject_evidence = false, no_sharing = false, sources = false, save_sources = false,
       list = false, json = false, quiet = false;

  void add_to(CLI::App& app);
  EvalSettings settings() const;
};

void EvalFlags::add_to(CLI::App& app) {
  app.add_option("task", tasks,
                 "Tasks or families of --list, separated by commas, or 'jsonl FILE' for your own "
                 "cases")
      ->type_name("TASK,...");
  model.add_to(app);
  add_text(app, "--attention", attention, "METHOD,...",
           "Attention methods, compared on the same prompts");
  add_number_list(
      app, "--lengths", lengths, 64, kLongestPrompt,
      "Most tokens of prompt and reply together (4096). Longer texts of benchmarks are cut to "
      "the largest, by default to the trained length; your own cases are not cut");
  add_number(app, "-n,--samples", samples, 1, 1 << 20, "Samples of every task and length");
  add_number<uint64_t>(app, "--seed", seed, 0, int64_t{1} << 53,
                       "Another seed gives other samples");
  add_text(app, "--shard", shard, "I/N",
           "Only every Nth sample, beginning with the Ith; 'report' merges the folders of all N");
  add_path(app, "-o,--out", out, "DIR",
           "Folder for run.json and samples.jsonl; a stopped run continues there");
  add_choice(app, "--opening,--openings", openings, {"off", "on", "both"},
             "Whether prompts end with the reply's first words, where a task has them");
  app.add_flag("--controls", controls,
               "Also ask dense attention without the context, and with its middle removed");
  add_number(app, "--kept", kept, 0.01, 0.99,
             "Share of the prompt that --controls keeps in the second case");
  app.add_flag("--inject-evidence", inject_evidence,
               "Also ask methods that look up blocks (infllm, ltri) with the blocks of the answer "
               "always visible");
  add_number(app, "--parallel", parallel, 1, 1024,
             "Answers at a time, one thread each, for small models");
  add_number(app, "--together", together, 1, 1024,
             "Replies decoded together, as far as memory allows (8 on a CPU)");
  add_number(app, "--simulate", simulated, 0, 1 << 16,
             "Tokens at the end of a prompt that are decoded one by one (DuoAttention: 50)");
  app.add_flag(
      "--no-sharing", no_sharing,
      "Every method prefills every prompt itself, even if a dense prefill could be shared");
  app.add_flag("--sources", sources,
               "Also whether the first source of a reply ('run --sources') holds the answer");
  add_path(app, "--data", data, "DIR", "Folder with the texts of benchmarks");
  app.add_flag(
      "--save-sources", save_sources,
      "Write the share below which 'run --sources' warns beside the model (with --sources)");
  app.add_flag("--list", list, "List the tasks, with their rules and sources");
  add_prompt_form(app, form);
  session.add_to(app, SessionFlags::Set::kWithoutAttentionAndContext);
  app.add_flag("--json", json, "One JSON object on standard output");
  app.add_flag("-q,--quiet", quiet, "No progress line");
}

/// The command as typed, without the program's folder.
std::string command_line() {
  std::vector<std::string> words = own_command();
  if (!words.empty()) words.front() = "longhaul";
  return shell_words(words);
}

EvalSettings EvalFlags::settings() const {
  form.check();
  EvalSettings s;
  SessionFlags one = session;
  for (const std::string& method : split_methods(attention)) {
    one.attention = method;
    s.methods.push_back(one.options().attention);
  }
  one.attention = "dense";
  s.session = one.options();
  s.lengths = lengths;
  s.samples = samples;
  if (!shard.empty()) s.shard = shard_from(shard);
  s.seed = seed;
  s.openings = openings == "off"  ? Openings::kOff
               : openings == "on" ? Openings::kOn
                                  : Openings::kBoth;
  s.controls = controls;
  s.kept_by_cut = kept;
  s.inject_evidence = inject_evidence;
  s.raw = form.raw;
  s.chat_template = form.chat_template;
  s.parallel = parallel;
  s.together = together > 0 ? together : kUsuallyTogether;
  s.share_reading = !no_sharing;
  s.sources = sources || save_sources;
  s.simulated = simulated;
  s.data = data;
  s.model = model.model;
  s.version = LONGHAUL_VERSION;
  s.build = build_id();
  s.command = command_line();
  return s;
}

/// "a,b" and "jsonl FILE" -> a, b, jsonl:FILE.
std::vector<std::string> task_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "jsonl") {
      if (i + 1 == words.size())
        user_error("jsonl: the file is missing (longhaul eval jsonl FILE)");
      names.push_back("jsonl:" + words[++i]);
      continue;
    }
    if (words[i].starts_with("jsonl:")) {
      if (words[i] == "jsonl:") user_error("jsonl: the file is missing (longhaul eval jsonl FILE)");
      names.push_back(words[i]);
      continue;
    }
    for (std::string& name : split_commas(words[i])) {
      if (!name.empty()) names.push_back(std::move(name));
    }
  }
  if (names.empty()) user_error("no task is given ('longhaul eval --list' lists them)");
  return names;
}

/// Duration of the run, and the harness's own share of it. Threads without a sample, while others
/// answered or made the next ones, are listed separately.
std::string time_line(const EvalFlags& flags, const EvalOutcome& outcome) {
  const std::span<const Record> records = outcome.records;
  const int64_t found = count_answers(records.first(outcome.found));
  const double all_threads = outcome.seconds * flags.parallel;
  const double spent = all_threads - outcome.idle_seconds;
  const double overhead = spent > 0 ? 100 * (1 - outcome.engine_seconds / spent) : 0;
  std::string line = fmt::format("\n{} in {} ({:.1f} % of it outside the engine",
                                 counted(count_answers(records.subspan(outcome.found)), "answer"),
                                 format_seconds(outcome.seconds), overhead);
  if (flags.parallel > 1 && all_threads > 0) {
    line += fmt::format(", {:.1f} % of the threads' time idle",
                        100 * outcome.idle_seconds / all_threads);
  }
  line += ")";
  if (found > 0) {
    line += fmt::format(", {} {} there", with_commas(found), found == 1 ? "was" : "were");
  }
  if (!flags.out.empty()) line += "; records in " + flags.out;
  return line + "\n";
}

void print_outcome(const EvalFlags& flags, const EvalOutcome& outcome,
                   const std::filesystem::path& folder) {
  const std::vector<RunFolder> runs{read_run(folder)};
  const Results results(runs);
  if (flags.json) {
    nlohmann::ordered_json json = {{"cells", json_cells(results)}, {"answers", results.answers()}};
    json["finished"] = outcome.finished;
    json["seconds"] = outcome.seconds;
    json["engine_seconds"] = outcome.engine_seconds;
    json["idle_seconds"] = outcome.idle_seconds;
    if (!flags.out.empty()) json["out"] = flags.out;
    print_json(json);
    return;
  }
  std::fputs((eval_text(results) + profile_lines(runs.front())).c_str(), stdout);
  std::fflush(stdout);
  if (flags.quiet) return;
  std::fputs(time_line(flags, outcome).c_str(), stderr);
}

/// With a GPU found by --device auto: checks whether it can run the longest prompts of all methods.
void settle_place(const EvalFlags& flags, const std::shared_ptr<const Engine>& engine,
                  EvalSettings& settings) {
  if (settings.session.queue.on_host()) return;
  const bool turns = settings.parallel > 1 && flags.session.device == "auto" &&
                     !flags.session.needs_gpu();  // several prompts at a time run on the CPU
  std::vector<SessionOptions> all(settings.methods.size(), settings.session);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].attention = settings.methods[i];
    if (turns) all[i].queue = {};
  }
  const int64_t longest = settings.lengths.empty() ? engine->model().shape.trained_context
                                                   : *std::ranges::max_element(settings.lengths);
  flags.session.settle_place(engine, all, longest);
  settings.session.queue = all.front().queue;
}

/// The share that separates replies of the first method best.
void write_sources_profile(const std::filesystem::path& folder,
                           const std::filesystem::path& profile) {
  const std::vector<RunFolder> runs{read_run(folder)};
  const std::vector<UnfoundedReplies> replies = unfounded_replies(Results(runs));
  if (replies.empty() || replies.front().right == 0 || replies.front().wrong == 0) {
    warn("--save-sources: needs right and wrong replies about texts; nothing was written");
    return;
  }
  const std::string share = fmt::format("{:.3f}", replies.front().least_share);
  write_profile(profile, "sources", "longhaul eval --sources", {{"rests_at", share}});
  std::fputs(fmt::format("written: {}\n", profile.string()).c_str(), stderr);
}

int run(const EvalFlags& flags) {
  if (flags.list) return list_tasks(flags.json);
  EvalSettings settings = flags.settings();
  const std::vector<PlannedTask> tasks = plan_tasks(task_names(flags.tasks), flags.data);
  const auto engine = flags.model.open();
  settle_place(flags, engine, settings);
  if (settings.parallel > thread_count()) {
    user_error("--parallel {}: there are {} threads", settings.parallel, thread_count());
  }
  if (settings.parallel > 1 && flags.together > 1) {
    user_error("--together {}: does not go with --parallel, which decodes replies alone",
               flags.together);
  }
  const bool on_host = settings.session.queue.on_host();
  if (!on_host && flags.together == 0) settings.together = 1;  // a GPU decodes one after another
  if (settings.parallel > 1 && !on_host) {
    user_error("--parallel {}: prompts take turns on a GPU", settings.parallel);
  }
  settings.isa = on_host ? std::string(name_of(current_isa())) : place_name(settings.session);
  std::unique_ptr<WorkFolder> scratch;  // temporary folder of a run without --out
  if (flags.out.empty()) {
    scratch = std::make_unique<WorkFolder>(temporary_folder(), "longhaul-eval-");
  }
  const std::filesystem::path folder = scratch ? scratch->path() : std::filesystem::path(flags.out);
  Interrupt interrupt;
  EvalBar bar(!flags.quiet && !flags.json);
  EvalHooks hooks;
  hooks.cancel = &interrupt.flag();
  hooks.progress = [&bar](const EvalProgress& progress) { bar.update(progress); };
  const std::filesystem::path profile =
      profile_path(engine->model().shape.profile_prefix, "sources");
  if (flags.save_sources) refuse_to_replace({&profile, 1});
  const EvalOutcome outcome = run_eval(engine, settings, tasks, folder, hooks);
  bar.clear();
  print_outcome(flags, outcome, folder);
  if (flags.save_sources && outcome.finished) write_sources_profile(folder, profile);
  if (!outcome.finished && !flags.out.empty()) {
    std::fputs("stopped; the same command continues from here\n", stderr);
  }
  return outcome.finished ? kExitOk : kExitCancelled;
}

}  // namespace

Command add_eval_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "eval", "Quality beside speed and memory, for any set of attention methods");
  auto flags = std::make_shared<EvalFlags>();
  flags->add_to(*app);
  app->footer(
      "Examples:\n"
      "  longhaul eval passkey,needle -m nano --attention dense,streamingllm,snapkv \\\n"
      "      --lengths 2048,4096 --samples 10 --out results\n"
      "  longhaul eval jsonl cases.jsonl -m model.gguf --attention dense,infllm --out mine\n"
      "  longhaul eval --list");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace longhaul
