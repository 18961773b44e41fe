// Events to JS in raw Node-API: a failed call (the environment is ending) must end quietly, not throw.
#include <cstring>

#include "base/error.h"
#include "binding/engine_results.h"

namespace octavo {

namespace {

/** Builds values until one fails; after that every value is nullptr. */
class ValueMaker {
 public:
  explicit ValueMaker(napi_env env) : env_(env) {}

  bool ok() const { return ok_; }
  napi_value object() { return made([&](napi_value* value) { return napi_create_object(env_, value); }); }
  napi_value array() { return made([&](napi_value* value) { return napi_create_array(env_, value); }); }
  napi_value null() { return made([&](napi_value* value) { return napi_get_null(env_, value); }); }
  napi_value number(double number) {
    return made([&](napi_value* value) { return napi_create_double(env_, number, value); });
  }
  napi_value text(const std::string& text) {
    return made([&](napi_value* value) { return napi_create_string_utf8(env_, text.data(), text.size(), value); });
  }
  void set(napi_value object, const char* name, napi_value value) {
    ok_ = ok_ && napi_set_named_property(env_, object, name, value) == napi_ok;
  }
  void push(napi_value array, uint32_t index, napi_value value) {
    ok_ = ok_ && napi_set_element(env_, array, index, value) == napi_ok;
  }

  /** A typed array over a fresh buffer of JS; `data` is where its elements go. */
  template <typename T>
  napi_value typedArray(napi_typedarray_type type, size_t length, T** data) {
    void* bytes = nullptr;
    const napi_value buffer = made(
        [&](napi_value* value) { return napi_create_arraybuffer(env_, length * sizeof(T), &bytes, value); });
    *data = static_cast<T*>(bytes);
    return made([&](napi_value* value) { return napi_create_typedarray(env_, type, length, buffer, 0, value); });
  }

  /** A Float32Array over the vector itself where the host allows it (Electron does not), else over a copy. */
  napi_value floats(std::vector<float> values) {
    auto* const kept = new std::vector<float>(std::move(values));
    const size_t length = kept->size();
    napi_value buffer = nullptr;
    const auto finalize = [](napi_env, void*, void* hint) { delete static_cast<std::vector<float>*>(hint); };
    const bool external = length > 0 && napi_create_external_arraybuffer(env_, kept->data(), length * sizeof(float),
                                                                         finalize, kept, &buffer) == napi_ok;
    if (external) {
      return made([&](napi_value* value) {
        return napi_create_typedarray(env_, napi_float32_array, length, buffer, 0, value);
      });
    }
    float* data = nullptr;
    const napi_value copy = typedArray(napi_float32_array, length, &data);
    if (ok_ && length > 0) std::memcpy(data, kept->data(), length * sizeof(float));
    delete kept;
    return copy;
  }

 private:
  template <typename Create>
  napi_value made(Create create) {
    napi_value value = nullptr;
    ok_ = ok_ && create(&value) == napi_ok;
    return ok_ ? value : nullptr;
  }

  napi_env env_;
  bool ok_ = true;
};

napi_value makeTop(ValueMaker& make, const std::vector<std::pair<int32_t, float>>& top) {
  if (top.empty()) return make.null();
  int32_t* tokens = nullptr;
  float* logprobs = nullptr;
  const napi_value made = make.object();
  const napi_value tokenArray = make.typedArray(napi_int32_array, top.size(), &tokens);
  const napi_value logprobArray = make.typedArray(napi_float32_array, top.size(), &logprobs);
  for (size_t index = 0; make.ok() && index < top.size(); ++index) {
    tokens[index] = top[index].first;
    logprobs[index] = top[index].second;
  }
  make.set(made, "tokens", tokenArray);
  make.set(made, "logprobs", logprobArray);
  return made;
}

napi_value makeTops(ValueMaker& make, const std::vector<TokenEvent>& tokens) {
  bool any = false;
  for (const TokenEvent& token : tokens) any = any || !token.top.empty();
  if (!any) return make.null();
  const napi_value made = make.array();
  for (size_t index = 0; index < tokens.size(); ++index) {
    make.push(made, static_cast<uint32_t>(index), makeTop(make, tokens[index].top));
  }
  return made;
}

void setTokens(ValueMaker& make, napi_value events, const std::vector<TokenEvent>& tokens) {
  double* requests = nullptr;
  int32_t* ids = nullptr;
  float* logprobs = nullptr;
  const napi_value requestArray = make.typedArray(napi_float64_array, tokens.size(), &requests);
  const napi_value tokenArray = make.typedArray(napi_int32_array, tokens.size(), &ids);
  const napi_value logprobArray = make.typedArray(napi_float32_array, tokens.size(), &logprobs);
  for (size_t index = 0; make.ok() && index < tokens.size(); ++index) {
    requests[index] = static_cast<double>(tokens[index].request);
    ids[index] = tokens[index].token;
    logprobs[index] = tokens[index].logprob;
  }
  make.set(events, "requests", requestArray);
  make.set(events, "tokens", tokenArray);
  make.set(events, "logprobs", logprobArray);
  make.set(events, "top", makeTops(make, tokens));
}

napi_value makeTimings(ValueMaker& make, const RequestTimings& timings) {
  const napi_value made = make.object();
  make.set(made, "submitted", make.number(static_cast<double>(timings.submitted)));
  make.set(made, "admitted", make.number(static_cast<double>(timings.admitted)));
  make.set(made, "firstToken", make.number(static_cast<double>(timings.firstToken)));
  make.set(made, "finished", make.number(static_cast<double>(timings.finished)));
  return made;
}

napi_value makeFinish(ValueMaker& make, FinishEvent& event) {
  const bool failed = event.reason == FinishReason::kFailed;
  const napi_value made = make.object();
  make.set(made, "request", make.number(static_cast<double>(event.request)));
  make.set(made, "reason", make.text(finishReasonName(event.reason)));
  make.set(made, "code", make.text(failed ? errorCodeName(event.code) : ""));
  make.set(made, "message", make.text(event.message));
  make.set(made, "promptTokens", make.number(event.promptTokens));
  make.set(made, "cachedTokens", make.number(event.cachedTokens));
  make.set(made, "outputTokens", make.number(event.outputTokens));
  make.set(made, "timings", makeTimings(make, event.timings));
  make.set(made, "logits", event.logits.empty() ? make.null() : make.floats(std::move(event.logits)));
  return made;
}

}  // namespace

napi_value makeError(napi_env env, ErrorCode code, const std::string& message) {
  ValueMaker make(env);
  const napi_value codeText = make.text(errorCodeName(code));
  const napi_value messageText = make.text(message);
  napi_value error = nullptr;
  const bool created = make.ok() && napi_create_error(env, codeText, messageText, &error) == napi_ok;
  return created ? error : nullptr;
}

napi_value makeEvents(napi_env env, EngineEvents events) {
  ValueMaker make(env);
  const napi_value made = make.object();
  setTokens(make, made, events.tokens);
  const napi_value finished = make.array();
  for (size_t index = 0; index < events.finished.size(); ++index) {
    make.push(finished, static_cast<uint32_t>(index), makeFinish(make, events.finished[index]));
  }
  make.set(made, "finished", finished);
  return make.ok() ? made : nullptr;
}

}  // namespace octavo
