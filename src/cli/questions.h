#pragma once
// Implements `longhaul run --questions`, which answers many questions about the same texts. The
// texts are prefilled once, and the replies are decoded in a batch.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/run_flags.h"
#include "documents/documents.h"

namespace longhaul {

struct QuestionLine {
  int64_t line = 0;   ///< line number in the file, from 1
  std::string text;   ///< valid UTF-8, without white space around it
  std::string error;  ///< reason why the question cannot be asked; empty: it can be asked
};

/// Reads the questions of a file, one per line. "-" means standard input. Blank lines are skipped.
/// Throws UserError if the file cannot be read or has no question.
std::vector<QuestionLine> read_questions(const std::string& file);

/// Answers the questions and prints the replies in the order of the questions. If a question cannot
/// be answered, prints an error with the file and the line number. Returns the exit status, which
/// is 1 if a question could not be answered.
int run_questions(const RunFlags& flags, const std::shared_ptr<const Engine>& engine,
                  const SessionOptions& options, const std::vector<QuestionLine>& questions,
                  const std::vector<Document>& documents);

}  // namespace longhaul
