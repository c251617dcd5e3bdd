// longhaul reproduce: the commands that measure a paper's table with a large model and its data.

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parse_number.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/own_command.h"
#include "eval/data.h"
#include "eval/score_text.h"
#include "text/printable.h"

namespace longhaul {
namespace {

struct ReproduceFlags {
  std::string paper, table, model, data, profiles;
};

/// A claim of docs/claims.md that needs a large model, and the command that measures it.
struct LargeClaim {
  std::string paper, item, claim;
  std::vector<std::string> command;  ///< without the program's name, with MODEL and DIR
  std::vector<std::string>
      profile;  ///< the command that finds a method's settings, if one needs it
};

/// The tables and figures of "figure 7, tables 3 to 6": "figure 7", "table 3", ...
std::set<std::string> places_of(const std::string& item) {
  std::set<std::string> places;
  std::string kind;
  int last = 0;
  bool range = false;
  for (const std::string& word : split_words(blank_out(item, ",()"))) {
    int number = 0;
    if (word.starts_with("table")) {
      kind = "table";
    } else if (word.starts_with("figure")) {
      kind = "figure";
    } else if (word == "to") {
      range = true;
    } else if (parse_number(word, number) && !kind.empty()) {
      for (int i = range ? last + 1 : number; i <= number; ++i) {
        places.insert(fmt::format("{} {}", kind, i));
      }
      last = number;
      range = false;
    }
  }
  return places;
}

/// The command between backticks.
std::vector<std::string> command_in(const std::string& needs) {
  constexpr std::string_view kBegin = "`longhaul ";
  const size_t begin = needs.find(kBegin);
  if (begin == std::string::npos) return {};
  const size_t first = begin + kBegin.size();
  return split_words(std::string_view(needs).substr(first, needs.find('`', first) - first));
}

std::vector<LargeClaim> large_claims() {
  const auto rows = nlohmann::json::parse(EvalData().text("claims.json")).at("rows");
  std::vector<LargeClaim> claims;
  for (const auto& row : rows) {
    LargeClaim claim{row.at("paper"), row.at("item"), row.at("claim"), {}, {}};
    claim.command = command_in(row.value("needs", ""));
    claim.profile = command_in(row.value("profile", ""));
    if (!claim.command.empty()) claims.push_back(std::move(claim));
  }
  return claims;
}

std::string words_of(const std::vector<std::string>& command) {
  return "longhaul " + shell_words(command);
}

/// Runs this program with the arguments, and returns its exit status.
int run_itself(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "longhaul");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ);
  if (failed != 0) user_error("longhaul reproduce: {}", std::strerror(failed));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitCancelled;
}

bool is_asked(const LargeClaim& claim, const ReproduceFlags& flags) {
  const bool paper = lower_case(claim.paper).starts_with(lower_case(flags.paper));
  const std::string table = lower_case(flags.table);
  return paper && (table.empty() || places_of(claim.item).count(table) > 0);
}

/// Puts the model and the data into the commands. Given profiles take the place of the search for
/// settings.
void fill_in(const ReproduceFlags& flags, LargeClaim& claim) {
  for (std::vector<std::string>* command : {&claim.profile, &claim.command}) {
    for (std::string& word : *command) {
      if (word == "MODEL" && !flags.model.empty()) word = flags.model;
      if (word == "DIR" && !flags.data.empty()) word = flags.data;
    }
  }
  if (flags.profiles.empty()) return;
  claim.profile.clear();
  claim.command.insert(claim.command.end(), {"--profiles", flags.profiles});
}

int reproduce(const ReproduceFlags& flags) {
  std::vector<LargeClaim> claims = large_claims();
  std::erase_if(claims, [&](const LargeClaim& claim) { return !is_asked(claim, flags); });
  if (claims.empty()) {
    user_error(
        "longhaul reproduce: no table or figure {} of {} needs a large model; 'longhaul "
        "reproduce' lists those that do, docs/claims.md shows the others",
        printable(flags.table), printable(flags.paper));
  }
  for (LargeClaim& claim : claims) {
    fill_in(flags, claim);
    fmt::print("{}, {}: {}\n", claim.paper, claim.item, claim.claim);
    if (!claim.profile.empty()) fmt::print("  {}\n", words_of(claim.profile));
    fmt::print("  {}\n", words_of(claim.command));
    std::fflush(stdout);
    if (flags.table.empty() || flags.model.empty() || flags.data.empty()) continue;
    if (const int status = run_itself(claim.command); status != kExitOk) return status;
  }
  return kExitOk;
}

}  // namespace

Command add_reproduce_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "reproduce", "The command that measures a paper's table with a large model and its data");
  auto flags = std::make_shared<ReproduceFlags>();
  app->add_option("paper", flags->paper,
                  "A paper of docs/claims.md: Ltri-LLM, CItruS, TriangleMix, ReAttention, "
                  "DuoAttention; none: all");
  app->add_option("table", flags->table, "Such as 'table 2' or 'figure 7'; none: all");
  add_text(*app, "-m,--model", flags->model, "MODEL", "The model; with --data the command is run");
  add_text(*app, "--data", flags->data, "DIR", "Folder with the benchmark's files");
  add_text(*app, "--profiles", flags->profiles, "FOLDER|NAME",
           "Settings of methods, as for 'longhaul eval'; none: those beside the model, which the "
           "first of two printed commands finds");
  app->footer(
      "Example:\n  longhaul reproduce duoattention 'table 7' -m llama-3-8b.gguf --data benchmarks");
  return {app, [flags] { return reproduce(*flags); }};
}

}  // namespace longhaul
