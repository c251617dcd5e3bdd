#pragma once
// Small runs on the embedded model, and their output.

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "eval/nano.h"
#include "eval/runner.h"

namespace longhaul::testing_support {

inline EvalSettings small_settings() {
  EvalSettings s;
  s.methods = {MethodSpec::parse("dense"), MethodSpec::parse("streamingllm:recent=64")};
  s.lengths = {400, 300};
  s.samples = 2;
  s.model = "nano";
  s.version = "test";
  return s;
}

inline EvalOutcome run(const EvalSettings& settings, const std::filesystem::path& folder,
                       const std::vector<std::string>& tasks = {"passkey", "magic"},
                       const EvalHooks& hooks = {}) {
  return run_eval(nano(), settings, plan_tasks(tasks), folder, hooks);
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The parts of a record that must not depend on when or how often a run was started.
inline std::string told(const Record& r) {
  std::ostringstream text;
  text << r.task << r.opening << r.length << "/" << r.id << r.method << r.prompt_hash << r.reply
       << r.score << r.error;
  return text.str();
}

inline std::multiset<std::string> told(const std::vector<Record>& records) {
  std::multiset<std::string> all;
  for (const Record& r : records) all.insert(told(r));
  return all;
}

}  // namespace longhaul::testing_support
