#!/usr/bin/env python3
"""Writes tests/data/eval/scores.json: the scores of the reference scorers for pairs of answers and replies.

The reference code itself runs: Python packages (pip install rouge rouge-score rapidfuzz
fuzzywuzzy python-Levenshtein nltk) and four files of public repositories in the folder given:
  longbench_metrics.py      THUDM/LongBench@2e00731:LongBench/metrics.py
  infinitebench_scores.py   OpenBMB/InfiniteBench@88b3daa:src/compute_scores.py
  babilong_metrics.py       booydar/babilong@7a6efee:babilong/metrics.py
  ruler_constants.py        NVIDIA/RULER@c3f5e3b:scripts/eval/synthetic/constants.py
"""
import json
import pathlib
import random
import sys
import types

OUT = pathlib.Path(__file__).parent.parent / "tests/data/eval/scores.json"


def load_references(folder):
    """Modules that the reference files import and these scores do not need become empty ones."""
    sys.path.insert(0, str(folder))
    from rouge_score import rouge_scorer

    class Evaluate:
        """evaluate.load("rouge") is rouge-score with lines as sentences."""

        def __init__(self):
            self.scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])

        def compute(self, predictions, references, use_aggregator):
            del use_aggregator
            scores = self.scorer.score(references[0], predictions[0])
            return {name: [score.fmeasure] for name, score in scores.items()}

    def stub(name, **members):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)

    stub("jieba", cut=None)
    stub("evaluate", load=lambda name: Evaluate())
    stub("args", parse_args=None)
    stub("tqdm", tqdm=None)
    import babilong_metrics
    import infinitebench_scores
    import longbench_metrics
    import ruler_constants
    return longbench_metrics, infinitebench_scores, babilong_metrics, ruler_constants


PAIRS = [  # answer, reply
    ("Dolores Park", "The best thing is to sit in Dolores Park on a sunny day."),
    ("the Eiffel Tower", "Eiffel tower"),
    ("An apple a day", "a an the apple, day; day!"),
    ("", "something"),
    ("something", ""),
    ("the", "the"),
    ("yes", "Yes, because of the—the rain."),
    ("naïve café", "Naïve CAFÉ\u00a0(naïve)"),
    ("42", "Paragraph 42 or 17, no: 42."),
    ("U.S. government", "us government"),
    ("state-of-the-art", "state of the art"),
    ("it's", "its"),
    ("“quoted” text", "quoted text"),
    ("one two three four five", "five four three two one"),
    ("The cat sat. The dog ran.\nA bird flew.", "A dog ran. The cat sat on it.\nThe bird flew away."),
    ("a. b. c.", "a b c"),
    ("line one\nline two\n\nline three", "line three\nline one\nunrelated"),
    ("word " * 40, "word " * 7),
    ("x = foo(bar)", "\n\n# comment\n// more\nx = foo(baz)\ny = 1"),
    ("return self.value", "```python\nreturn self.value\n```"),
    ("if (a == b) {", "if (a==b) {"),
    ("e4d909c2-90fa", "The value is \"e4d909c2-90fa\"."),
    ("Größe über alles", "GRÖSSE ÜBER ALLES"),
    ("...", ". . ."),
]
CHINESE = [
    ("厦门大学。", "厦门大学"), ("厦门大学", "年会在厦门大学举办。"), ("2014年5月", "二〇一四年五月"),
    ("“北京”、上海", "上海,北京 abc ABC"), ("好", ""), ("Ａ Ｂ", "ａ ｂ"), ("完全不同", "没有关系"),
]
CLASSES = ["Food", "Date", "Number of something", "Other number", "Other location", "Country",
           "City", "Individual", "number"]
CLASSIFICATION = [
    ("Country", "Country"), ("Country", "Country or City"), ("Other number", "Other number"),
    ("Other number", "number"), ("Number of something", "Type: Number of something, Date"),
    ("City", "Food City Date Country"), ("Date", "Individual"), ("Date", ""),
]
ROOMS = ["bathroom", "bedroom", "garden", "hallway", "kitchen", "office"]
LABELS = [  # target, labels, question, reply
    ("kitchen", ROOMS, "Where is Mary?", "The most recent location of Mary is Kitchen. No, garden."),
    ("kitchen", ROOMS, "Where is Mary?", "kitchen or garden"),
    ("bathroom", ROOMS, "Where was the apple before the kitchen?",
     "Before the kitchen the apple was in the bathroom."),
    ("garden", ROOMS, "Where is Mary?", "I do not know"),
    ("garden", ROOMS, "Where is Mary?", "Mary <example> garden"),
    ("apple,milk", ["apple", "football", "milk", "nothing"], "What is Mary carrying?", "milk and apple"),
    ("apple,milk", ["apple", "football", "milk", "nothing"], "What is Mary carrying?", "apple"),
    ("nothing", ["apple", "football", "milk", "nothing"], "What is Mary carrying?", "Nothing"),
    ("n,w", ["n,w", "n,e", "s,s"], "How do you go?", "You go N,W."),
    ("Fred", ["Bill", "Fred", "milk"], "Who gave the milk to Bill?", "Fred gave the milk to Bill"),
]
NUMBERS = [("Paragraph 7", "Paragraph 7"), ("Paragraph 7", "7, 8 or 9"), ("Paragraph 17", "7"),
           ("Paragraph 3", "none"), ("段落12", "答案是：段落12"), ("段落12", "12 和 １２")]
COUNTS = [("7", "7"), ("7", "7 8"), ("7", "007"), ("12", "There are 12 of 30."), ("1", "")]


def random_pairs(rng):
    words = "the a river ran over stones and 3 green hills near Zürich, where nobody went. So it is;\n".split(" ")
    for _ in range(30):
        answer = " ".join(rng.choices(words, k=rng.randint(1, 25)))
        reply = answer.split(" ")
        for _ in range(rng.randint(0, 12)):
            if reply and rng.random() < 0.5:
                reply.pop(rng.randrange(len(reply)))
            reply.insert(rng.randint(0, len(reply)), rng.choice(words))
        yield answer, " ".join(reply)


INFINITE = [  # task, label, replies
    ("passkey", "71432", ["71432", "The pass key is 71432. Remember", "071432", "key 7 1432", ""]),
    ("kv_retrieval", "a1b2-c3", ["a1b2-c3", '{"k": "a1b2-c3"}', "xa1b2-c3", "A1B2-C3", ""]),
    ("longdialogue_qa_eng", ["ROSS"], ["Ross", "It is ross.", "ROSSE", "\"Ross\":", ""]),
    ("code_run", -15, ["-15", "The result is `-15`.", "15", "-15 apples", "it is:-15\n", ""]),
    ("math_find", 37, ["37", "The answer is 37.", "It is 38, not 37", "none", "037"]),
    ("math_find", 3.5, ["3.5", "about 3.50 or so", "3", "3.", "x3.5y"]),
    ("math_calc", [1, 4, 8, -2], ["[1, 4, 8]", "1 4 9 2", "2 4 8", "", "1,4,8,2,7"]),
    ("longbook_choice_eng", ["The old man", "B"],
     ["B", "B. The old man", "The old man", "C", " the answer is B", "The answer is: The old man",
      "my answer is", "Well, maybe D or B", "option is B.", "none", "the answer is  C", "AB", "I think B"]),
    ("code_debug", ["run_all", "C"],
     ["C.", "C: run_all", "C", "The answer is: C", "answer: run_all", "The correct option is: C",
      "It is: B", "Option C", "the answer is `run_all`", "", "answer is:"]),
    ("longbook_qa_eng", ["Heathcliff", "Mr. Heathcliff"], ["heathcliff", "Mr Heathcliff did", "nobody", ""]),
    ("longbook_qa_chn", ["贾宝玉", "宝玉"], ["宝玉。", "林黛玉", "贾 宝玉", ""]),
    ("longbook_sum_eng", "A man goes home.\nHe sleeps.", ["He sleeps.\nA man goes home.", "home", "zzz", ""]),
]
RULER = [(["12345", "67890"], "12345 and 1"), (["Apple-Tree"], "it is APPLE-tree."), (["a", "b", "c", "d"], "cb"),
         (["1ee34dc4"], "1ee34dc"), (["Zürich"], "in ZÜRICH")]
NEEDLE = ["Dolores Park", "eat a sandwich and sit in Dolores Park on a sunny day",
          "eat a burger in Golden Gate Park", "", "sandwich"]
NEEDLE_ANSWER = "eat a sandwich and sit in Dolores Park on a sunny day."
NEEDLE_KEYWORD = "Dolores Park"


def cases(longbench, infinite, babilong, ruler):
    from rapidfuzz import distance, fuzz
    from rouge_score import rouge_scorer
    google = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])

    def case(rule, answers, reply, score, **more):
        return {"rule": rule, "answers": answers, "reply": reply, "score": float(score), **more}

    for answer, reply in PAIRS + list(random_pairs(random.Random(5))):
        yield case("f1", [answer], reply, longbench.qa_f1_score(reply, answer))
        yield case("rouge-l-unique", [answer], reply, longbench.rouge_score(reply, answer))
        yield case("code-line", [answer], reply, longbench.code_sim_score(reply, answer))
        scores = google.score(answer, reply)
        for name, rule in (("rouge1", "match:rouge1"), ("rouge2", "rouge-2"),
                           ("rougeL", "match:rougeL"), ("rougeLsum", "rouge-lsum")):
            yield case(rule, [answer], reply, scores[name].fmeasure)
        yield case("match:edit", [answer], reply, fuzz.ratio(answer, reply) / 100)
    for answer, reply in CHINESE:
        yield case("f1-chinese", [answer], reply, infinite.qa_f1_score_zh(reply, [answer]))
    for answer, reply in CLASSIFICATION:
        score = longbench.classification_score(reply, answer, all_classes=CLASSES)
        yield case("classes", [answer], reply, score, choices=CLASSES)
    for target, labels, question, reply in LABELS:
        score = babilong.compare_answers(target, reply, question, labels)
        yield case("labels", [target], reply, score, choices=labels, question=question)
    for answer, reply in NUMBERS:
        score = (longbench.retrieval_score if "P" in answer else longbench.retrieval_zh_score)(reply, answer)
        yield case("integer-share", [answer], reply, score)
    for answer, reply in COUNTS:
        yield case("integer-share", [answer], reply, longbench.count_score(reply, answer))
    for answers, reply in RULER:
        yield case("match:all", answers, reply, ruler.string_match_all([reply], [answers]) / 100)
        yield case("match:any", answers, reply, ruler.string_match_part([reply], [answers]) / 100)
    # The paper states the rule in one sentence; rapidfuzz computes the distance.
    for reply in NEEDLE:
        a, b = NEEDLE_ANSWER.replace(" ", ""), reply.replace(" ", "")
        similar = distance.Levenshtein.normalized_similarity(a, b)
        yield case("needlebench", [NEEDLE_ANSWER, NEEDLE_KEYWORD], reply,
                   1 if NEEDLE_KEYWORD in reply else 0.2 * similar)
    yield from infinite_cases(case, infinite)


def infinite_cases(case, infinite):
    rules = {"kv_retrieval": "whole-word", "longdialogue_qa_eng": "name", "code_run": "last-integer",
             "math_find": "first-number", "math_calc": "running-values", "passkey": "match:integer",
             "longbook_choice_eng": "option-choice", "code_debug": "function-choice",
             "longbook_qa_eng": "f1", "longbook_qa_chn": "f1-chinese", "longbook_sum_eng": "rouge-lsum"}
    for task, label, replies in INFINITE:
        for reply in replies:
            score = infinite.get_score_one(reply, label, task, "others")
            answers = label if isinstance(label, list) else [label]
            yield case(rules[task], [str(a) for a in answers], reply, score)


if __name__ == "__main__":
    OUT.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(c, ensure_ascii=False) for c in cases(*load_references(pathlib.Path(sys.argv[1])))]
    OUT.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    print(f"{len(lines)} cases")
