#include "cli/eval_list.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/json_output.h"
#include "eval/task.h"

namespace longhaul {

int list_tasks(bool json) {
  if (json) {
    nlohmann::ordered_json tasks = nlohmann::ordered_json::array();
    for (const TaskInfo& t : eval_tasks()) {
      tasks.push_back({{"name", t.name},
                       {"summary", t.summary},
                       {"rule", t.rule},
                       {"source", t.source},
                       {"any_length", t.scales}});
    }
    print_json(tasks);
    return kExitOk;
  }
  for (const TaskInfo& t : eval_tasks()) {
    std::printf("%s", fmt::format("{}\n    {}\n    score: {}\n    from: {}\n", t.name, t.summary,
                                  t.rule, t.source)
                          .c_str());
  }
  std::puts("jsonl FILE\n    cases of your own, one JSON object a line (docs/eval.md)");
  return kExitOk;
}

}  // namespace longhaul
