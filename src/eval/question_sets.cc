#include "eval/question_sets.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "eval/data_json.h"

namespace longhaul {
namespace {

using Key = std::pair<std::string, std::string>;  // title, text

/// Collects documents while a file is read; indices are known at the end.
class Pool {
 public:
  void add(const Key& key) { known_.emplace(key, 0); }
  std::vector<QuestionDocument> documents() {
    std::vector<QuestionDocument> documents;
    for (auto& [key, index] : known_) {
      index = documents.size();
      documents.push_back({key.first, key.second});
    }
    return documents;
  }
  size_t index(const Key& key) const { return known_.at(key); }

 private:
  std::map<Key, size_t> known_;
};

std::string joined_sentences(const DataValue& list) {
  std::string text;
  for (const DataValue& sentence : elements(list)) {
    if (!sentence.json.is_string()) user_error("{}: is no text", sentence.where);
    text += sentence.json.get<std::string>();
  }
  return text;
}

/// Parses HotpotQA's [title, [sentence, ...]].
Key hotpot_paragraph(const DataValue& pair) {
  const std::vector<DataValue> parts = elements(pair);
  if (parts.size() != 2 || !parts[0].json.is_string()) {
    user_error("{}: is no title with sentences", pair.where);
  }
  return {parts[0].json.get<std::string>(), joined_sentences(parts[1])};
}

std::set<std::string> supporting_titles(const DataValue& entry) {
  std::set<std::string> titles;
  for (const DataValue& fact : elements(entry, "supporting_facts")) {
    const std::vector<DataValue> parts = elements(fact);
    if (parts.empty() || !parts[0].json.is_string()) user_error("{}: has no title", fact.where);
    titles.insert(parts[0].json.get<std::string>());
  }
  return titles;
}

Question hotpot_question(const DataValue& entry, const Pool& pool) {
  Question question{text_member(entry, "question"), {text_member(entry, "answer")}, {}, {}, {}};
  const std::set<std::string> titles = supporting_titles(entry);
  std::vector<size_t> others;
  for (const DataValue& pair : elements(entry, "context")) {
    const Key key = hotpot_paragraph(pair);
    (titles.contains(key.first) ? question.gold : others).push_back(pool.index(key));
  }
  question.own = question.gold;
  question.own.insert(question.own.end(), others.begin(), others.end());
  if (question.gold.empty()) user_error("{}: no paragraph supports the answer", entry.where);
  return question;
}

void add_extra_paragraphs(const EvalData& data, Pool& pool) {
  for (const DataValue& entry : elements(data_json(data, "qa/hotpotqa_paragraphs.json"))) {
    if (!entry.json.is_string()) user_error("{}: is no text", entry.where);
    const auto text = entry.json.get<std::string>();
    const size_t end = std::min(text.find('\n'), text.size());
    pool.add({text.substr(0, end), text.substr(std::min(end + 1, text.size()))});
  }
}

std::vector<std::string> squad_answers(const DataValue& question) {
  std::vector<std::string> answers;
  for (const DataValue& answer : elements(question, "answers")) {
    answers.push_back(text_member(answer, "text"));
  }
  if (answers.empty()) user_error("{}: has no answer", question.where);
  return answers;
}

void add_article(const DataValue& article, const Pool& pool, QuestionSet& set) {
  const std::vector<DataValue> paragraphs = elements(article, "paragraphs");
  std::vector<size_t> all;
  for (const DataValue& p : paragraphs) all.push_back(pool.index({"", text_member(p, "context")}));
  for (size_t i = 0; i < paragraphs.size(); ++i) {
    std::vector<size_t> near = all;
    near.erase(std::remove(near.begin(), near.end(), all[i]), near.end());
    for (const DataValue& q : elements(paragraphs[i], "qas")) {
      set.questions.push_back(
          {text_member(q, "question"), squad_answers(q), {all[i]}, {all[i]}, near});
    }
  }
}

}  // namespace

QuestionSet xquad(const EvalData& data) {
  const std::vector<DataValue> articles = elements(data_json(data, "qa/xquad.en.json"), "data");
  Pool pool;
  for (const DataValue& article : articles) {
    for (const DataValue& p : elements(article, "paragraphs")) {
      pool.add({"", text_member(p, "context")});
    }
  }
  QuestionSet set{pool.documents(), {}};
  for (const DataValue& article : articles) add_article(article, pool, set);
  if (set.questions.empty()) user_error("qa/xquad.en.json: holds no questions");
  return set;
}

QuestionSet hotpotqa(const EvalData& data) {
  const std::vector<DataValue> entries = elements(data_json(data, "qa/hotpotqa.json"));
  if (entries.empty()) user_error("qa/hotpotqa.json: holds no questions");
  Pool pool;
  for (const DataValue& entry : entries) {
    for (const DataValue& pair : elements(entry, "context")) pool.add(hotpot_paragraph(pair));
  }
  add_extra_paragraphs(data, pool);
  QuestionSet set{pool.documents(), {}};
  for (const DataValue& entry : entries) set.questions.push_back(hotpot_question(entry, pool));
  return set;
}

QuestionSet natural_questions(const EvalData& data) {
  const std::vector<DataValue> entries = data_json_lines(data, "qa/nq_open.jsonl");
  Pool pool;
  for (const DataValue& entry : entries) {
    pool.add({text_member(entry, "title"), text_member(entry, "text")});
  }
  QuestionSet set{pool.documents(), {}};
  for (const DataValue& entry : entries) {
    const size_t gold = pool.index({text_member(entry, "title"), text_member(entry, "text")});
    set.questions.push_back(
        {text_member(entry, "question"), texts_member(entry, "answers"), {gold}, {gold}, {}});
  }
  return set;
}

std::vector<size_t> distractors(const QuestionSet& set, const std::vector<size_t>& without,
                                Random& random) {
  std::vector<size_t> others;
  for (size_t i = 0; i < set.documents.size(); ++i) {
    if (std::find(without.begin(), without.end(), i) == without.end()) others.push_back(i);
  }
  random.shuffle(others);
  return others;
}

}  // namespace longhaul
