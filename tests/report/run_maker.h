#pragma once
// Folders of runs for the tests of reports.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/record.h"
#include "format/temp_folder.h"

namespace longhaul::testing_support {

inline Record answer(const std::string& method, const std::string& id, double score,
                     int64_t length = 4096, const std::string& task = "needle") {
  Record r;
  r.task = task;
  r.length = length;
  r.id = id;
  r.method = method;
  r.score = score;
  r.prompt_hash = "hash" + id;
  r.reply = score > 0.5 ? "right" : "wrong";
  r.expected = {"right"};
  r.reply_tokens = 4;
  r.first_token_seconds = method == "dense" ? 2 : 1;
  r.decode_tokens_per_second = 50;
  r.kv_bytes = method == "dense" ? 1 << 20 : 1 << 18;
  r.pairs_share = method == "dense" ? 1 : 0.25;
  return r;
}

class RunMaker {
 public:
  std::filesystem::path make(const std::string& name, const std::vector<Record>& records,
                             const nlohmann::json& info = standard_info()) const {
    std::string lines;
    for (const Record& r : records) lines += to_json(r) + "\n";
    return make_raw(name, lines, info.dump());
  }
  std::filesystem::path make_raw(const std::string& name, const std::string& lines,
                                 const std::string& info) const {
    std::filesystem::create_directory(folder_.path() / name);
    folder_.write(name + "/run.json", info);
    folder_.write(name + "/samples.jsonl", lines);
    return folder_.path() / name;
  }
  static nlohmann::json standard_info() {
    return {
        {"version", "0.1.0"},
        {"command", "longhaul eval needle"},
        {"seed", 7},
        {"started", "2026-01-02T03:04:05Z"},
        {"model", {{"name", "tiny"}, {"weight_bytes", 1048576}}},
        {"machine", {{"cpu", "A CPU"}, {"threads", 2}}},
        {"tasks", {{{"name", "needle"}, {"summary", "finds it"}, {"rule", "the word is there"}}}},
        {"methods", {"snapkv:capacity=64", "dense", "control:no-context"}}};
  }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
};

/// Two methods and a control over two lengths, with 10 samples per cell. dense finds all, snapkv
/// every second one at 8K, and the control none.
inline std::vector<Record> small_run() {
  std::vector<Record> records;
  for (const int64_t length : {4096, 8192}) {
    for (int i = 0; i < 10; ++i) {
      const std::string id = std::to_string(i);
      for (const char* method : {"dense", "snapkv:capacity=64", "control:no-context"}) {
        const bool found = method[0] == 'd' || (method[0] == 's' && (length == 4096 || i % 2 == 0));
        Record r = answer(method, id, found ? 1 : 0, length);
        r.depth = 0.1 * i;
        records.push_back(r);
      }
    }
  }
  return records;
}

}  // namespace longhaul::testing_support
