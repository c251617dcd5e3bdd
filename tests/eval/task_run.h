#pragma once
// Runs tasks without a model. Numbers of tokens are estimated from bytes.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "eval/data.h"
#include "eval/scorers.h"
#include "eval/task.h"

namespace longhaul::testing_support {

/// An approximation of the model's prompt.
inline std::string prompt_text(const Sample& sample) {
  return sample.context + (sample.context.empty() ? "" : sample.separator) + sample.question +
         sample.opening;
}

inline TaskRequest request_of(const EvalData& data, int64_t length, int samples,
                              uint64_t seed = 42) {
  TaskRequest request;
  request.length = length;
  request.samples = samples;
  request.seed = seed;
  request.data = &data;
  request.prompt_tokens = [](const Sample& s) {
    return static_cast<int64_t>(prompt_text(s).size() / 4 + 16);
  };
  return request;
}

/// Questions without a text.
inline std::vector<Sample> bare_samples(int count) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    Sample sample;
    sample.id = std::to_string(i);
    sample.question = "What is 1+1?";
    sample.answers = {"2"};
    samples.push_back(sample);
  }
  return samples;
}

/// Checks that equal requests give equal samples, and that sample i does not depend on their
/// number. Samples must fit and be scorable, and a reply with all answers must be right.
inline void check_task(const TaskInfo& task, const EvalData& data, int64_t length) {
  SCOPED_TRACE(task.name);
  const TaskRequest request = request_of(data, length, 3);
  const std::vector<Sample> samples = task.make(request);
  const std::vector<Sample> fewer = task.make(request_of(data, length, 2));
  ASSERT_EQ(samples.size(), 3u);
  ASSERT_EQ(fewer.size(), 2u);
  std::set<std::string> ids;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Sample& s = samples[i];
    if (i < fewer.size()) {
      EXPECT_EQ(prompt_text(s), prompt_text(fewer[i]));
      EXPECT_EQ(s.answers, fewer[i].answers);
    }
    ids.insert(s.id);
    EXPECT_NO_THROW(check_scorable(s));
    EXPECT_GT(s.max_tokens, 0);
    EXPECT_LE(request.prompt_tokens(s) + s.max_tokens, length);
    EXPECT_TRUE(!task.scales || request.prompt_tokens(s) + s.max_tokens >= length * 4 / 5);
    EXPECT_EQ(prompt_text(s).find("{context}"), std::string::npos);
    if (s.depth) {
      EXPECT_GE(*s.depth, 0);
      EXPECT_LE(*s.depth, 1);
    }
    EXPECT_EQ(score_reply(s, ""), 0) << s.id;
  }
  EXPECT_EQ(ids.size(), samples.size());
}

/// A reply with every answer on a line of its own.
inline std::string all_answers(const Sample& sample) {
  std::string reply;
  for (const std::string& answer : sample.answers) reply += answer + "\n";
  return reply;
}

}  // namespace longhaul::testing_support
