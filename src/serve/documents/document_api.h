#pragma once
// Implements the paths /v1/documents and /v1/files.

#include <functional>
#include <memory>
#include <string>

#include "http/router.h"
#include "serve/documents/document_reader.h"
#include "serve/documents/document_store.h"
#include "serve/documents/question_documents.h"

namespace longhaul::serve {

/// The functions of the server that DocumentApi calls.
struct DocumentHost {
  /// Returns the served model. Throws ApiError while no model is loaded.
  std::function<std::shared_ptr<ServedModel>()> model;
  std::function<std::string(const http::HttpRequest&)> key_name;
  /// Runs a task on a thread of the text pool. Returns false if too many tasks wait.
  std::function<bool(std::function<void()>)> run;
};

class DocumentApi : public DocumentSource {
 public:
  DocumentApi(DocumentHost host, Metrics& metrics,
              std::shared_ptr<const ConverterProcess> converter);

  void add_routes(http::Router& router);
  /// Adds the documents that earlier processes stored in ServedModel::cache_folder. Documents whose
  /// snapshot is not on disk are prefilled again. Call it before the scheduler runs. `log` receives
  /// lines about damaged files; it may be null.
  void restore(const std::shared_ptr<ServedModel>& model,
               const std::function<void(const std::string& line)>& log);
  /// Ends the threads that convert documents, and the converter process.
  void stop() { reader_.stop(); }
  DocumentStore& store() { return store_; }
  /// Returns whether documents can be converted.
  bool can_convert() const { return reader_.alive(); }

  // Implementation of DocumentSource.
  std::shared_ptr<ServedDocument> find(const std::string& key,
                                       const std::string& id) const override;
  QuestionDocument look(const ServedDocument& document) const override;
  std::optional<double> seconds_to_read(int64_t tokens, int64_t reach) const override {
    return store_.seconds_to_read(tokens, reach);
  }
  void when_converted(const std::shared_ptr<ServedDocument>& document,
                      std::function<void()> task) override;

 private:
  using ExchangePtr = std::shared_ptr<http::Exchange>;
  using Answer = http::HttpResponse (DocumentApi::*)(const http::HttpRequest&);

  void add(http::Router& router, const char* method, const char* path, Answer answer);
  void post(const ExchangePtr& exchange, bool is_file);
  void add_document(const ExchangePtr& exchange, const std::string& key, DocumentWish wish,
                    std::shared_ptr<const DocumentText> text);
  void stream(const ExchangePtr& exchange);

  http::HttpResponse list_documents(const http::HttpRequest& request);
  http::HttpResponse show_document(const http::HttpRequest& request);
  http::HttpResponse delete_document(const http::HttpRequest& request);
  http::HttpResponse show_text(const http::HttpRequest& request);
  http::HttpResponse show_passages(const http::HttpRequest& request);
  http::HttpResponse show_map(const http::HttpRequest& request);
  http::HttpResponse fork_document(const http::HttpRequest& request);
  http::HttpResponse show_advice(const http::HttpRequest& request);
  http::HttpResponse list_files(const http::HttpRequest& request);
  http::HttpResponse show_file(const http::HttpRequest& request);
  http::HttpResponse show_file_text(const http::HttpRequest& request);
  http::HttpResponse delete_file(const http::HttpRequest& request);
  http::HttpResponse remove(const http::HttpRequest& request, bool is_file);

  std::shared_ptr<ServedDocument> named(const http::HttpRequest& request, bool is_file) const;
  std::shared_ptr<const DocumentText> text_of(const ServedDocument& document) const;

  DocumentHost host_;
  Metrics& metrics_;
  DocumentStore store_;
  DocumentReader reader_;
};

}  // namespace longhaul::serve
