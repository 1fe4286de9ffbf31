// libcurl, with its variadic calls as functions of fixed types: Swift cannot call variadic ones.
#ifndef VITRINE_CURL_H
#define VITRINE_CURL_H

// libcurl's macros for type checks have no use: the functions below have fixed types.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

static inline CURLcode vitrine_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

// libcurl copies the text.
static inline CURLcode vitrine_curl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

// libcurl keeps the pointer.
static inline CURLcode vitrine_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLMcode vitrine_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLcode vitrine_curl_get_number(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode vitrine_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(handle, info, value);
}

// The version of the library in use, which may be newer than that of its header: 0x080101 for 8.1.1.
static inline unsigned vitrine_curl_version(void) { return curl_version_info(CURLVERSION_NOW)->version_num; }

// Returns false if memory is short.
static inline bool vitrine_curl_copy_cookies(CURL *from, CURL *to) {
  struct curl_slist *cookies = NULL;
  if (curl_easy_getinfo(from, CURLINFO_COOKIELIST, &cookies) != CURLE_OK) return false;
  CURLcode code = CURLE_OK;
  for (struct curl_slist *line = cookies; line && code == CURLE_OK; line = line->next) {
    code = curl_easy_setopt(to, CURLOPT_COOKIELIST, line->data);
  }
  curl_slist_free_all(cookies);
  return code == CURLE_OK;
}

static inline void *vitrine_curl_context(CURL *handle) {
  char *context = NULL;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &context);
  return context;
}

// Allows HTTP and HTTPS alone.
static inline CURLcode vitrine_curl_set_protocols(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
  return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// Lets the end of a transfer abandon the thread that resolves a name, instead of waiting for it.
static inline void vitrine_curl_abandon_resolver(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)handle;
#endif
}

// The functions of a transfer, which all get the same context.
typedef struct {
  curl_write_callback header;
  curl_write_callback body;
  curl_resolver_start_callback resolve;
  curl_opensocket_callback open_socket;
  // Called when a connection, new or used before, is about to get the request.
  int (*request)(void *, char *, char *, int, int);
} vitrine_curl_functions;

// Returns whether this version of libcurl calls `request`.
static inline bool vitrine_curl_set_functions(CURL *handle, vitrine_curl_functions functions, void *context) {
  curl_easy_setopt(handle, CURLOPT_PRIVATE, context);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, functions.header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, functions.body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
  curl_easy_setopt(handle, CURLOPT_RESOLVER_START_FUNCTION, functions.resolve);
  curl_easy_setopt(handle, CURLOPT_RESOLVER_START_DATA, context);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, functions.open_socket);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context);
#if LIBCURL_VERSION_NUM >= 0x075000
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, functions.request);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, context);
  return true;
#else
  return false;
#endif
}

#endif
