// Whatever is sent to the scrape port is answered with one whole HTTP message, and with values only to GET
// /metrics.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "daemon/live/scrape_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string request = std::string(reinterpret_cast<const char*>(data), size) + "\r\n\r\n";
  int asked = 0;
  const std::string reply = profd::live::AnswerToScrape(request, [&] {
    ++asked;
    return "the values\n";
  });
  const std::string_view all = reply;
  const size_t end = all.find("\r\n\r\n");
  PROFD_CHECK(all.starts_with("HTTP/1.1 ") && end != std::string_view::npos);
  const std::string_view body = all.substr(end + 4);
  const bool is_head = request.starts_with("HEAD ") && body.empty();
  PROFD_CHECK(is_head ||
              all.find("Content-Length: " + std::to_string(body.size()) + "\r\n") != std::string_view::npos);
  PROFD_CHECK((asked == 1) == all.starts_with("HTTP/1.1 200 "));
  PROFD_CHECK(asked == 0 || request.starts_with("GET /metrics") || request.starts_with("HEAD /metrics"));
  PROFD_CHECK(!body.starts_with("the values") || asked == 1);
  return 0;
}
