#pragma once
// Lists the published benchmarks for task_registry.cc. There is one function for each file with
// tasks.

#include <span>

#include "eval/task.h"

namespace longhaul {

std::span<const TaskInfo> ruler_niah_tasks();          // ruler_niah.cc
std::span<const TaskInfo> ruler_vt_tasks();            // ruler_vt.cc
std::span<const TaskInfo> ruler_words_tasks();         // ruler_words.cc
std::span<const TaskInfo> ruler_qa_tasks();            // ruler_qa.cc
std::span<const TaskInfo> longbench_tasks();           // longbench.cc
std::span<const TaskInfo> infinite_retrieval_tasks();  // infinitebench_retrieval.cc
std::span<const TaskInfo> infinite_computed_tasks();   // infinitebench_computed.cc
std::span<const TaskInfo> infinite_filed_tasks();      // infinitebench_filed.cc
std::span<const TaskInfo> babilong_tasks();            // babilong.cc
std::span<const TaskInfo> leval_tasks();               // leval.cc
std::span<const TaskInfo> document_tasks();            // documents.cc
std::span<const TaskInfo> few_shot_tasks();            // few_shot.cc

}  // namespace longhaul
