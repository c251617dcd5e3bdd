#pragma once
// Lists the task families for task_registry.cc. There is one function for each file with tasks.

#include <span>

#include "eval/task.h"

namespace longhaul {

std::span<const TaskInfo> passkey_tasks();           // passkey.cc
std::span<const TaskInfo> needle_tasks();            // needle.cc
std::span<const TaskInfo> magic_tasks();             // magic.cc
std::span<const TaskInfo> fact_tasks();              // fact.cc
std::span<const TaskInfo> key_value_tasks();         // key_value.cc
std::span<const TaskInfo> tracing_tasks();           // tracing.cc
std::span<const TaskInfo> repeat_tasks();            // repeat.cc
std::span<const TaskInfo> book_tasks();              // book.cc
std::span<const TaskInfo> graph_walk_tasks();        // graph_walks.cc
std::span<const TaskInfo> later_question_tasks();    // later_questions.cc
std::span<const TaskInfo> repeated_request_tasks();  // repeated_requests.cc

}  // namespace longhaul
