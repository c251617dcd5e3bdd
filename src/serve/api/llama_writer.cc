// Replies in the form of llama-server's own /completion.

#include "serve/api/writers.h"
#include "text/utf8.h"

namespace longhaul::serve {
namespace {

const char* stop_type(Finish finish) {
  switch (finish) {
    case Finish::kNone:
      return "none";
    case Finish::kEnd:
      return "eos";
    case Finish::kStopString:
      return "word";
    default:
      return "limit";
  }
}

class LlamaWriter : public ReplyWriter {
 public:
  LlamaWriter(std::shared_ptr<const ServedModel> model, GenerationRequest request,
              std::shared_ptr<http::Exchange> exchange)
      : ReplyWriter(std::move(model), std::move(request), std::move(exchange)),
        reply_(request_.jobs.front()->reply) {}

 private:
  bool llama() const override { return true; }

  Json chance(int32_t id, float logprob) const {
    std::string storage;
    size_t replaced = 0;
    const std::string_view piece = tokenizer().piece(id);
    return {{"id", id},
            {"token", std::string(repair_utf8(piece, storage, &replaced))},
            {"bytes", bytes_of(piece)},
            {"logprob", logprob}};
  }

  Json probabilities(const std::vector<TokenReport>& tokens) const {
    Json list = Json::array();
    for (const TokenReport& token : tokens) {
      Json one = chance(token.id, token.logprob);
      one["top_logprobs"] = Json::array();
      for (const TokenChance& best : token.best) {
        one["top_logprobs"].push_back(chance(best.id, best.logprob));
      }
      list.push_back(std::move(one));
    }
    return list;
  }

  static Json ids(const std::vector<TokenReport>& tokens) {
    Json list = Json::array();
    for (const TokenReport& token : tokens) list.push_back(token.id);
    return list;
  }

  Json content(int index, const std::string& text, const std::vector<TokenReport>& tokens,
               bool stop) const {
    Json body = {
        {"index", index},
        {"content", text},
        {"tokens", request_.return_tokens || request_.stream ? ids(tokens) : Json::array()},
        {"stop", stop},
        {"id_slot", -1}};
    if (request_.logprobs) body["completion_probabilities"] = probabilities(tokens);
    return body;
  }

  /// The settings by which the reply was made.
  Json settings() const {
    const ReplyOptions& reply = reply_;
    Json biases = Json::array();
    for (const auto& [token, bias] : reply.logit_bias) {
      biases.push_back({{"token", token}, {"bias", bias}});
    }
    if (reply.ignore_eos) {  // null: minus infinity
      for (size_t id = 0; id < tokenizer().vocab_size(); ++id) {
        if (tokenizer().end_of_generation(static_cast<int32_t>(id))) {
          biases.push_back({{"token", id}, {"bias", nullptr}});
        }
      }
    }
    return {{"seed", request_.seed ? Json(*request_.seed) : Json()},
            {"attention", request_.attention.text()},
            {"stream", request_.stream},
            {"n_predict", reply.max_tokens},
            {"temperature", reply.sampler.temperature},
            {"top_k", reply.sampler.top_k},
            {"top_p", reply.sampler.top_p},
            {"min_p", reply.sampler.min_p},
            {"repeat_penalty", reply.sampler.repeat_penalty},
            {"repeat_last_n", reply.sampler.repeat_last},
            {"presence_penalty", reply.presence_penalty},
            {"frequency_penalty", reply.frequency_penalty},
            {"ignore_eos", reply.ignore_eos},
            {"stop", reply.stop},
            {"logit_bias", std::move(biases)}};
  }

  void add_end(Json& body, int index, const JobReport& report) {
    const Choice& made = choice(index);
    body["model"] = request_.model;
    body["tokens_predicted"] = report.reply_tokens;
    body["tokens_evaluated"] = report.prompt_tokens;
    body["tokens_cached"] = report.cached_tokens;
    body["truncated"] = false;
    body["has_new_line"] = made.text.find('\n') != std::string::npos;
    body["stop_type"] = stop_type(made.finish);
    body["stopping_word"] = made.stop_string;
    body["generation_settings"] = settings();
    body["timings"] = timings(report);
    body["longhaul"] = longhaul(report);
  }

  void write_piece(int index, const ReplyPiece& piece, const JobReport& so_far) override {
    if (piece.text.empty() && (!request_.logprobs || piece.tokens.empty())) return;
    Json body = content(index, piece.text, piece.tokens, false);
    body["tokens_predicted"] = so_far.reply_tokens;
    body["tokens_evaluated"] = so_far.prompt_tokens;
    if (request_.timings_per_token) body["timings"] = timings(so_far);
    send(body);
  }

  void write_finish(int index, const JobReport* report) override {
    Json body = content(index, "", {}, true);
    add_end(body, index, report != nullptr ? *report : JobReport());
    send(body);
  }

  void write_end(const JobReport&) override {}

  void write_progress(const PromptProgress& progress) override {
    Json body = content(0, "", {}, false);
    body["prompt_progress"] = {{"total", progress.total},
                               {"cache", progress.cached},
                               {"processed", progress.processed},
                               {"time_ms", static_cast<int64_t>(progress.seconds * 1000)}};
    if (request_.timings_per_token) body["timings"] = progress_timings(progress);
    send(body);
  }

  Json whole(const JobReport& report) override {
    Json all = Json::array();
    int index = 0;
    for (const Choice& made : choices()) {
      Json one = content(index, made.text, made.tokens, true);
      add_end(one, index++, report);
      all.push_back(std::move(one));
    }
    return all.size() == 1 ? std::move(all[0]) : all;
  }

  const ReplyOptions reply_;  ///< settings of the first prompt
};

}  // namespace

std::shared_ptr<ReplyWriter> make_llama_writer(std::shared_ptr<const ServedModel> model,
                                               GenerationRequest request,
                                               std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<LlamaWriter>(std::move(model), std::move(request), std::move(exchange));
}

}  // namespace longhaul::serve
