"""Cases of llama-server's tests that `longhaul serve` answers in another way, or that do not apply, with the reasons.

docs/serving.md lists the differences. A case that differs has to fail: if it passes, its line here is out of date."""

import re

FILES = ["test_basic.py", "test_chat_completion.py", "test_completion.py", "test_tokenize.py", "test_template.py",
         "test_security.py", "test_metrics.py", "test_ignore_eos.py", "test_stream.py", "test_compat_anthropic.py",
         "test_compat_oai_responses.py", "test_tool_call.py"]

# Beginnings of FILE::CASE, as regular expressions.
NOT_APPLICABLE = {
    "the test needs a model from the network":
        r"test_basic.py::test_load_split_model|test_completion.py::test_completion_stream_with_openai_library_stops|"
        r"test_tool_call.py::test_(completion_with_required_tool_real|completion_without_tool_call_slow|weather|"
        r"calc_result|thoughts|hello_world)|test_compat_anthropic.py::test_anthropic_(thinking_with_reasoning_model|"
        r"vision_base64)|test_metrics.py::test_metrics_embedding|test_security.py::test_local_media_file",
    "the router, its model list and its proxy do not exist":
        r"test_stream.py|test_security.py::test_cors_(origins|proxy)",
    "the number belongs to the test's model or its tokenizer":
        r"test_chat_completion.py::test_chat_completion_cached_tokens|test_completion.py::test_(nocache_long_input|"
        r"completion_prompt_cache|completion_response_fields\[I believe the meaning of life is-32)|"
        r"test_tokenize.py::test_tokenize_with_bos|test_metrics.py::test_metrics_prompt_processed|"
        r"test_completion.py::test_completion_stream\[Write|test_chat_completion.py::test_chat_completion\[.*codellama|"
        r"test_chat_completion.py::test_chat_completion_stream\[You|test_completion.py::test_completion\[Write",
    "the templates of these names are llama.cpp's": r"test_chat_completion.py::test_(apply_chat_template|chat_template$|"
                                                    r"chat_completion\[.*(chatml|not a chat template))",
    "--reasoning does not exist: requests switch reasoning":
        r"test_template.py::test_reasoning\[.*-(on|off)-",
    "backend sampling does not exist": r"test_completion.py::test_n_probs_post_backend_sampling",
}
DIFFERENT = {
    "origins are not reflected": r"test_security.py::test_cors_options",
    "the web page has other files": r"test_security.py::test_access_static_assets",
    "the first event has the content \"\", as OpenAI's": r"test_chat_completion.py::test_logprobs_stream",
    "/metrics and /slots are always there": r"test_metrics.py::test_metrics_disabled|test_basic.py::test_server_slots",
    "without the web page / says that the server runs": r"test_basic.py::test_no_ui",
    "/props does not reveal the model's path": r"test_basic.py::test_server_props",
    "a model has one name": r"test_basic.py::test_server_model_aliases_and_tags",
    "/v1 paths have OpenAI's type of error": r"test_chat_completion.py::test_context_size_exceeded",
    "progress is reported at 0 and every 250 ms, not per batch": r"test_chat_completion.py::test_return_progress",
    "prompts are not in the replies (__verbose)":
        r"test_chat_completion.py::test_(verbose_debug|chat_template_assistant_prefill|"
        r"chat_template_continue_final_message_vllm_compat)",
    "two messages of the assistant may end a conversation":
        r"test_chat_completion.py::test_invalid_chat_completion_req\[messages7",
    "variables that a request does not set stay undefined, as in transformers":
        r"test_template.py::test_reasoning\[(?!Qwen-Qwen3).*-auto-",
    "templates get no datetime, as in transformers": r"test_template.py::test_date_inside_prompt\[fireworks",
    "Responses report progress as response.longhaul.progress": r"test_compat_oai_responses.py::test_responses_stream_with_llama",
    "templates keep their fallback date": r"test_template.py::test_date_inside_prompt\[meta-llama",
    "post_sampling_probs is not supported": r"test_completion.py::test_n_probs_post_sampling",
    "some settings and counters do not exist here":
        r"test_completion.py::test_completion_stream\[I|test_metrics.py::test_metrics_prometheus_format",
    "images are refused with 400, empty messages too": r"test_compat_anthropic.py::test_anthropic_(tool_result_with_image|"
                                                       r"vision_format|empty_messages)",
}


def reason_of(case):
    """("none" or "differs", the reason), or two empty texts for a case that has to pass."""
    for kind, table in (("none", NOT_APPLICABLE), ("differs", DIFFERENT)):
        for reason, pattern in table.items():
            if re.match(pattern, case):
                return kind, reason
    return "", ""
