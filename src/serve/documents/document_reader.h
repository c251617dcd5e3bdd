#pragma once
// Converts documents to text, and then prefills them one after another with low priority. Several
// threads convert.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "documents/converter_process.h"
#include "serve/documents/document_files.h"
#include "serve/documents/document_store.h"
#include "serve/documents/pending_answers.h"
#include "serve/served_model.h"

namespace longhaul::serve {

class DocumentReader {
 public:
  /// `converter` is the process that converts files such as PDF. It is null if the server accepts
  /// only plain texts.
  DocumentReader(DocumentStore& store, std::shared_ptr<const ConverterProcess> converter);
  ~DocumentReader();
  /// Ends all threads. Running conversions are abandoned.
  void stop();

  /// A document before its conversion.
  struct Source {
    std::string bytes;
    PageRanges pages;
  };
  /// Converts the document in the background and then prefills it. The response to the request of
  /// `exchange` is sent after the conversion, or after two seconds if the conversion takes longer.
  void convert(std::shared_ptr<const ServedModel> model, std::shared_ptr<ServedDocument> document,
               Source source, std::shared_ptr<http::Exchange> exchange);
  /// Sets the folder to which documents with DocumentWish::persist are written from now on.
  void keep_in(std::shared_ptr<const DocumentFiles> files) { files_ = std::move(files); }
  bool keeps_files() const { return files_ != nullptr; }
  /// Adds a document of an earlier process. If its snapshot is not on disk, the document is
  /// prefilled again.
  void restore(const std::shared_ptr<const ServedModel>& model, StoredDocument stored);
  /// Prefills a document again, because its snapshot could not be loaded.
  void read_again(const std::string& id);
  /// Prefills a document whose text has already been converted. Throws ApiError if the document
  /// cannot be prefilled, for example because it is too long.
  void prefill(std::shared_ptr<const ServedModel> model, std::shared_ptr<ServedDocument> document,
               std::shared_ptr<const DocumentText> text);
  /// Stops all work on a document that was deleted.
  void forget(const std::shared_ptr<ServedDocument>& document);
  /// Calls `task` when the conversion of the document has ended. If it is not being converted,
  /// calls `task` at once.
  void when_converted(const std::shared_ptr<ServedDocument>& document, std::function<void()> task);

  /// Returns whether documents can be converted.
  bool alive() const { return converter_ != nullptr && converter_->alive(); }

 private:
  class Sink;
  struct Conversion {
    std::shared_ptr<const ServedModel> model;
    std::shared_ptr<ServedDocument> document;
    Source source;
  };
  struct Prefill {
    std::shared_ptr<const ServedModel> model;
    std::shared_ptr<ServedDocument> document;
  };

  void run();
  void convert_one(Conversion& conversion);
  std::shared_ptr<const DocumentText> text_of(const Conversion& conversion) const;
  void fail(const std::shared_ptr<ServedDocument>& document, const JobError& error);
  void guard_document(const std::shared_ptr<ServedDocument>& document,
                      const std::function<void()>& work);
  void settle(const std::shared_ptr<ServedDocument>& document);
  void start_prefill();
  void prefill_ended();
  void prefill(std::shared_ptr<const ServedModel> model, std::shared_ptr<ServedDocument> document,
               std::shared_ptr<const DocumentText> text, bool writes);
  void add_prefill(std::shared_ptr<const ServedModel> model,
                   std::shared_ptr<ServedDocument> document);
  void write_first(ServedDocument& document);
  void write(ServedDocument& document);
  void saved(const std::shared_ptr<ServedDocument>& document, const std::string& error);

  DocumentStore& store_;
  std::shared_ptr<const ConverterProcess> converter_;
  std::shared_ptr<const DocumentFiles> files_;  ///< null: documents are kept in memory only
  /// The model that prefills the documents of restore() and read_again().
  std::weak_ptr<const ServedModel> model_;
  PendingAnswers answers_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Conversion> conversions_;
  size_t waiting_bytes_ = 0;  ///< total size of the documents in conversions_
  std::deque<Prefill> prefills_;
  /// Documents whose files must be written again.
  std::deque<std::shared_ptr<ServedDocument>> unwritten_;
  bool prefilling_ = false, stopping_ = false;
  std::vector<std::pair<std::weak_ptr<ServedDocument>, std::function<void()>>> waiters_;
  std::vector<std::thread> threads_;
};

/// Converts the error of a failed conversion to the error that the client receives.
JobError error_of_document(const DocumentError& error);

}  // namespace longhaul::serve
