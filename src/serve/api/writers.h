#pragma once
// Creates writers (serve/api/reply_sink.h), one function for each API. make_writer() calls one of
// them.

#include "serve/api/reply_sink.h"

namespace longhaul::serve {

std::shared_ptr<ReplyWriter> make_chat_writer(std::shared_ptr<const ServedModel> model,
                                              GenerationRequest request,
                                              std::shared_ptr<http::Exchange> exchange);
std::shared_ptr<ReplyWriter> make_message_writer(std::shared_ptr<const ServedModel> model,
                                                 GenerationRequest request,
                                                 std::shared_ptr<http::Exchange> exchange);
std::shared_ptr<ReplyWriter> make_llama_writer(std::shared_ptr<const ServedModel> model,
                                               GenerationRequest request,
                                               std::shared_ptr<http::Exchange> exchange);

std::shared_ptr<ReplyWriter> make_responses_writer(std::shared_ptr<const ServedModel> model,
                                                   GenerationRequest request,
                                                   std::shared_ptr<http::Exchange> exchange);
std::shared_ptr<ReplyWriter> make_ollama_writer(std::shared_ptr<const ServedModel> model,
                                                GenerationRequest request,
                                                std::shared_ptr<http::Exchange> exchange);
/// Returns Ollama's response to a request that needs no generated reply, such as one without a
/// prompt (GenerationRequest::ends_at_once).
Json answer_at_once(const GenerationRequest& request);

}  // namespace longhaul::serve
