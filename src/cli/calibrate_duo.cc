// longhaul calibrate duo: gates trained by gradient.

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "attention/profile.h"
#include "base/clock.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "calibrate/duo_gates.h"
#include "cli/calibrate_command.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/profile_file.h"
#include "cli/progress_bar.h"
#include "cli/table.h"
#include "ops/gated_heads.h"
#include "text/number_lines.h"

namespace longhaul {
namespace {

/// Unless --lengths says it: from 1,000 tokens on, or what ten passkeys take, as far as the model
/// was trained.
void set_lengths(const CalibrateFlags& flags, const Engine& engine, const EvalData& data,
                 DuoTraining& t) {
  if (flags.lengths.empty()) {
    PromptRequest request;
    request.tokenizer = &engine.tokenizer();
    request.chat = flags.chat(engine);
    request.data = &data;
    t.shortest = std::max(t.shortest, least_passkey_tokens(request, flags.words));
    t.longest = std::max(t.longest, t.shortest + 500);
    const int64_t trained = engine.model().config.trained_context;
    t.longest = std::min(t.longest, trained);
    t.shortest = std::min(t.shortest, trained);
    return;
  }
  if (flags.lengths.size() > 2) {
    user_error("--lengths: one number, or the shortest and the longest");
  }
  t.shortest = flags.lengths.front();
  t.longest = flags.lengths.back();
  if (t.shortest > t.longest) {
    user_error("--lengths {},{}: the shortest comes first", t.shortest, t.longest);
  }
}

DuoTraining training_of(const CalibrateFlags& flags, const Engine& engine, const EvalData& data) {
  DuoTraining t;
  t.steps = flags.steps;
  t.rate = flags.rate;
  t.penalty = flags.penalty;
  t.sight = {flags.sink, flags.recent};
  t.full = flags.full == "model" ? GatedAttention::Full::kOfModel : GatedAttention::Full::kOfStream;
  t.tasks = split_commas(flags.tasks);
  t.words = flags.words;
  t.seed = flags.seed;
  t.compute = flags.compute_type();
  set_lengths(flags, engine, data, t);
  return t;
}

HeadGates head_gates(const Gates& gates) {
  HeadGates found;
  for (const auto& layer : gates) found.emplace_back(layer.begin(), layer.end());
  return found;
}

struct DuoFiles {
  std::filesystem::path profile, gates;

  DuoFiles(const ModelShape& shape, bool save)
      : profile(profile_path(shape.profile_prefix, "duo")),
        gates(shape.profile_prefix + "duo_gates.tsv") {
    if (save) refuse_to_replace(std::array{profile, gates});
  }
  void write(const HeadGates& found, double sparsity) const {
    replace_file(gates, number_lines_text(found));
    write_profile(profile, "duo", "longhaul calibrate duo",
                  {{"gates", {{"file", gates.filename().string()}}}, {"sparsity", sparsity}});
  }
};

std::string note_of(const DuoStep& s) {
  return fmt::format("difference {:.4f}, mean gate {:.3f}", s.difference, s.gates);
}

void print_gates(const Gates& gates) {
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  table.add({"layer", "gates of its KV heads"});
  for (size_t layer = 0; layer < gates.size(); ++layer) {
    std::string row;
    for (const float gate : gates[layer])
      row += fmt::format("{}{:.2f}", row.empty() ? "" : "  ", gate);
    table.add({std::to_string(layer), row});
  }
  std::fputs(table.text().c_str(), stdout);
}

/// False where it was interrupted.
bool train(DuoTrainer& trainer, const CalibrateFlags& flags, DuoStep& last) {
  Interrupt interrupt;
  ProgressBar bar("training", !flags.quiet && !flags.json, "steps");
  while (!trainer.finished() && !interrupt.requested()) {
    last = trainer.step();
    bar.update(trainer.done(), flags.steps, note_of(last));
    if (!flags.state.empty()) trainer.save(flags.state);
  }
  return trainer.finished();
}

}  // namespace

int calibrate_duo(const CalibrateFlags& flags) {
  const auto engine = flags.model.open();
  const EvalData data(flags.data);
  const DuoFiles files(engine->model().shape, flags.save);
  if (!flags.state.empty()) expect_writable(flags.state);
  if (!flags.gates.empty()) expect_writable(flags.gates);
  DuoTrainer trainer(engine, data, flags.chat(*engine), training_of(flags, *engine, data));
  if (!flags.state.empty() && is_there(flags.state)) trainer.restore(flags.state);

  const Stopwatch watch;
  const int64_t before = trainer.done();
  DuoStep last;
  const bool finished = train(trainer, flags, last);
  const double seconds = watch.seconds();
  const Gates& gates = finished ? trainer.gates() : trainer.best();
  if (flags.json) {
    print_json({{"steps", trainer.done()},
                {"finished", finished},
                {"seconds", seconds},
                {"difference", last.difference},
                {"mean_gate", last.gates},
                {"gates", gates}});
  } else {
    print_gates(gates);
    fmt::print("\n{} of {} steps, {:.1f} s a step; {}\n", trainer.done(), flags.steps,
               seconds / static_cast<double>(std::max<int64_t>(1, trainer.done() - before)),
               note_of(last));
  }
  if (!flags.gates.empty()) replace_file(flags.gates, number_lines_text(head_gates(gates)));
  if (flags.save) {
    files.write(head_gates(gates), flags.sparsity);
    std::fputs(fmt::format("written: {}\n", files.profile.string()).c_str(), stderr);
  }
  return finished ? kExitOk : kExitCancelled;
}

}  // namespace longhaul
