// longhaul heads: retrieval heads of a model, and profiles of the methods that use them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "attention/profile.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/calibration_part.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/model_flags.h"
#include "cli/profile_file.h"
#include "cli/progress_bar.h"
#include "cli/prompt_flags.h"
#include "cli/session_flags.h"
#include "cli/table.h"
#include "eval/head_profiles.h"
#include "text/number_lines.h"

namespace longhaul {
namespace {

struct HeadsFlags {
  ModelFlags model;
  SessionFlags session;
  PromptForm form;
  std::vector<int64_t> lengths;
  int samples = 10;
  uint64_t seed = 1;
  double least = 0.1;
  std::string data;
  bool save = false, json = false, quiet = false;

  void add_to(CLI::App& app);
  HeadSearch search(const Engine& engine) const;
};

void HeadsFlags::add_to(CLI::App& app) {
  model.add_to(app);
  add_number_list(app, "--lengths", lengths, 64, int64_t{1} << 26,
                  "Tokens of a prompt and its reply (1024,2048,4096, within the trained length)");
  add_number(app, "-n,--samples", samples, 1, 1 << 20, "Facts to find at every length");
  add_number<uint64_t>(app, "--seed", seed, 0, int64_t{1} << 53, "Another seed gives other facts");
  add_number(app, "--least", least, 0.001, 1.0, "Least score of a retrieval head");
  add_text(app, "--data", data, "DIR", "Folder with the texts of benchmarks");
  app.add_flag("--save", save, "Write profiles for ltri and duo beside the model");
  add_prompt_form(app, form);
  session.device = "cpu";  // attention is inspected on the host, row by row
  session.add_to(app, SessionFlags::Set::kWithoutAttentionAndContext);
  app.add_flag("--json", json, "One JSON object on standard output");
  app.add_flag("-q,--quiet", quiet, "No progress bar");
}

HeadSearch HeadsFlags::search(const Engine& engine) const {
  HeadSearch s;
  s.lengths = lengths_or(lengths, engine, {1024, 2048, 4096});
  s.samples = samples;
  s.seed = seed;
  s.session = session.options();
  if (!form.raw) s.chat = engine.chat_template(form.chat_template);
  return s;
}

class Profiles {
 public:
  explicit Profiles(const ModelShape& shape)
      : ltri_(profile_path(shape.profile_prefix, "ltri")),
        duo_(profile_path(shape.profile_prefix, "duo")),
        gates_(shape.profile_prefix + "duo_gates.tsv") {
    refuse_to_replace(std::array{ltri_, duo_, gates_});
  }

  void write(const FoundHeads& found, std::span<const RetrievalHead> heads,
             const ModelShape& shape) const {
    replace_file(gates_, number_lines_text(duo_gates(found, shape.kv_heads)));
    write_profile(duo_, "duo", kFoundBy, {{"gates", {{"file", gates_.filename().string()}}}});
    write_profile(ltri_, "ltri", kFoundBy, ltri_options(heads), {{"decode", "form=longhaul"}});
  }

  std::string text() const { return fmt::format("{}, {}", ltri_.string(), duo_.string()); }

 private:
  static constexpr std::string_view kFoundBy = "longhaul heads";
  std::filesystem::path ltri_, duo_, gates_;
};

void print_heads(const FoundHeads& found, std::span<const RetrievalHead> heads,
                 const HeadsFlags& flags) {
  Table table({Table::Align::kLeft, Table::Align::kRight});
  table.add({"head", "score"});
  for (const RetrievalHead& h : heads) {
    table.add({fmt::format("{}.{}", h.layer, h.head), fmt::format("{:.2f}", h.score)});
  }
  std::fputs(table.text().c_str(), stdout);
  fmt::print("\n{} of {} query heads (LAYER.HEAD) score {} or more; {} of {} facts were found\n",
             heads.size(), found.scores.size() * found.scores[0].size(), flags.least, found.counted,
             found.asked);
  fmt::print("--attention ltri:{}\n", option_text(ltri_options(heads)));
}

void print_heads_json(const FoundHeads& found, std::span<const RetrievalHead> heads,
                      const HeadSearch& search, const HeadsFlags& flags) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RetrievalHead& h : heads) {
    list.push_back({{"layer", h.layer}, {"head", h.head}, {"score", h.score}});
  }
  print_json({{"lengths", search.lengths},
              {"samples", search.samples},
              {"seed", search.seed},
              {"asked", found.asked},
              {"counted", found.counted},
              {"least", flags.least},
              {"retrieval_heads", list},
              {"ltri_options", ltri_options(heads)},
              {"scores", found.scores}});
}

/// Reports ties, so that heads with equal scores are not taken for found ones.
void say_ties(const HeadGates& gates) {
  constexpr double kSparsity = 0.5;  // duo's default
  const int tied = chosen_by_place(gates, kSparsity);
  if (tied == 0) return;
  std::fputs(
      fmt::format("note: {} of the heads that --attention duo then keeps full score no more than "
                  "heads that stream, and are chosen by their low layer; 'longhaul calibrate duo' "
                  "ranks more of them\n",
                  tied)
          .c_str(),
      stderr);
}

int run(const HeadsFlags& flags) {
  flags.form.check();
  const auto engine = flags.model.open();
  HeadSearch search = flags.search(*engine);
  const ModelShape& shape = engine->model().shape;
  const std::optional<Profiles> profiles =
      flags.save ? std::optional(Profiles(shape)) : std::nullopt;
  const EvalData data(flags.data);
  Interrupt interrupt;
  ProgressBar bar("asking", !flags.quiet && !flags.json, "facts");
  search.cancel = &interrupt.flag();
  search.progress = [&bar](int done, int total) { bar.update(done, total); };
  const FoundHeads found = find_retrieval_heads(engine, data, search);
  bar.clear();
  if (!found.finished) return kExitCancelled;
  const std::vector<RetrievalHead> heads = retrieval_heads(found.scores, flags.least);
  if (flags.json) print_heads_json(found, heads, search, flags);
  if (heads.empty()) {
    user_error("{}: no head scores {} or more: {} of {} facts were found; see --least, --samples",
               engine->checkpoint().path().string(), flags.least, found.counted, found.asked);
  }
  if (!flags.json) print_heads(found, heads, flags);
  if (profiles) {
    profiles->write(found, heads, shape);
    say_ties(duo_gates(found, shape.kv_heads));
    std::fputs(fmt::format("written: {}\n", profiles->text()).c_str(), stderr);
  }
  return kExitOk;
}

}  // namespace

Command add_heads_command(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("heads", "Find a model's retrieval heads, for ltri and duo");
  auto flags = std::make_shared<HeadsFlags>();
  flags->add_to(*app);
  app->footer(
      "Asks for facts hidden in books and counts which heads attend to the words that the reply\n"
      "copies. --attention ltri looks up by the best head of each layer; duo keeps every row of\n"
      "the best heads.\n"
      "Examples:\n"
      "  longhaul heads -m model.gguf\n"
      "  longhaul heads -m model.gguf --lengths 1024,4096,16384 --save");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace longhaul
