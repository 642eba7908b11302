#include "bench/http/bare_client.hpp"

namespace allm::bench {
namespace {

std::size_t on_write(char* data, std::size_t size, std::size_t count, void* on_bytes) {
  (*static_cast<const BareClient::OnBytes*>(on_bytes))({data, size * count});
  return size * count;
}

}  // namespace

BareClient::BareClient(const std::string& ca_file) : easy_(curl_easy_init()) {
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &on_write);
  if (!ca_file.empty()) curl_easy_setopt(easy_, CURLOPT_CAINFO, ca_file.c_str());
}

BareClient::~BareClient() { curl_easy_cleanup(easy_); }

bool BareClient::post(const BareRequest& request, const OnBytes& on_bytes) {
  curl_slist* headers = nullptr;
  for (const auto& [name, value] : request.headers) headers = curl_slist_append(headers, (name + ": " + value).c_str());
  curl_easy_setopt(easy_, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, &on_bytes);
  const CURLcode result = curl_easy_perform(easy_);
  curl_slist_free_all(headers);
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  return result == CURLE_OK && status == 200;
}

}  // namespace allm::bench
