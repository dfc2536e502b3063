#include "client/export/stacks/flame.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>

#include "base/fnv.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr double kWidth = 1200, kMargin = 10, kRow = 17, kLetter = 6.6;
constexpr double kTop = 48;         // room for the title
constexpr double kLeast = 0.25;     // pixels: what is narrower is not drawn
constexpr size_t kMostDepth = 400;  // frames that are drawn
constexpr std::string_view kKernel = "_[k]";

struct Frame {
  uint64_t count = 0;
  std::map<std::string, Frame, std::less<>> inside;
};

std::string Escaped(std::string_view text) {
  std::string safe;
  for (const char c : OneLine(text)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

// As many letters as there is room for; "" where none is.
std::string Label(const std::string& name, double width) {
  const auto letters = static_cast<size_t>(std::max(0.0, (width - 6) / kLetter));
  if (letters < 3) return "";
  if (Width(name) <= letters) return Escaped(name);
  size_t end = 0;
  for (size_t left = letters - 1; left > 0 && end < name.size(); --left) {
    do ++end;
    while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80);
  }
  return Escaped(name.substr(0, end)) + "…";
}

// The same name has the same colour in every picture; the kernel's are of another kind.
std::string Colour(const std::string& name) {
  const uint32_t hash = base::Fnv1a(name);
  const uint32_t hue = name.ends_with(kKernel) ? 205 + hash % 25 : 12 + hash % 42;
  return "hsl(" + std::to_string(hue) + ",70%," + std::to_string(64 + hash / 64 % 12) + "%)";
}

class Picture {
 public:
  Picture(const FlameWords& words, uint64_t total) : words_(words), total_(total) {}

  void Add(const std::string& name, const Frame& frame, double from, size_t depth) {
    const double width =
        (kWidth - 2 * kMargin) * static_cast<double>(frame.count) / static_cast<double>(total_);
    if (width < kLeast || depth >= kMostDepth) return;
    deepest_ = std::max(deepest_, depth);
    // From the bottom up; the height is known at the end.
    const double y = -kRow * static_cast<double>(depth + 1);
    char share[32];
    std::snprintf(share, sizeof share, "%.2f",
                  100 * static_cast<double>(frame.count) / static_cast<double>(total_));
    frames_ += "<g><title>" + Escaped(name) + ": " + std::to_string(frame.count) + " " +
               std::string(words_.unit) + ", " + share + " %</title><rect x=\"" + Number(from) + "\" y=\"" +
               Number(y) + "\" width=\"" + Number(width) + "\" height=\"" + Number(kRow - 1) + "\" fill=\"" +
               Colour(name) + "\"/>";
    if (const std::string label = Label(name, width); !label.empty())
      frames_ += "<text x=\"" + Number(from + 3) + "\" y=\"" + Number(y + 12) + "\">" + label + "</text>";
    frames_ += "</g>\n";
    double at = from;
    for (const auto& [inner, its] : frame.inside) {
      Add(inner, its, at, depth + 1);
      at += (kWidth - 2 * kMargin) * static_cast<double>(its.count) / static_cast<double>(total_);
    }
  }

  std::string Text() const {
    const double height = kTop + kRow * static_cast<double>(deepest_ + 1) + kMargin;
    const std::string size =
        std::to_string(static_cast<int>(kWidth)) + " " + std::to_string(static_cast<int>(height));
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size +
           "\" font-family=\"sans-serif\" font-size=\"12\">\n<title>" + Escaped(words_.title) +
           "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fbfbfa\"/>\n<text x=\"" + Number(kMargin) +
           "\" y=\"22\" font-size=\"16\">" + Escaped(words_.title) + "</text>\n<text x=\"" + Number(kMargin) +
           "\" y=\"40\" fill=\"#61666d\">" + std::to_string(total_) + " " + std::string(words_.unit) +
           "; the kernel is blue; hold the pointer over a frame to read it</text>\n<g "
           "transform=\"translate(0 " +
           Number(height - kMargin) + ")\">\n" + frames_ + "</g>\n</svg>\n";
  }

 private:
  const FlameWords& words_;
  const uint64_t total_;
  size_t deepest_ = 0;
  std::string frames_;
};

}  // namespace

Result<std::string> FlameSvg(std::string_view collapsed, const FlameWords& words) {
  Frame root;
  while (!collapsed.empty()) {
    const size_t end = std::min(collapsed.find('\n'), collapsed.size());
    const std::string_view line = collapsed.substr(0, end);
    collapsed.remove_prefix(std::min(end + 1, collapsed.size()));
    const size_t blank = line.rfind(' ');
    uint64_t count = 0;
    if (blank == line.npos ||
        std::from_chars(line.data() + blank + 1, line.data() + line.size(), count).ec != std::errc() ||
        count == 0)
      continue;
    root.count += count;
    Frame* at = &root;
    size_t depth = 0;
    for (size_t begin = 0; begin <= blank && ++depth < kMostDepth;) {
      const size_t semicolon = std::min(line.find(';', begin), blank);
      at = &at->inside[std::string(line.substr(begin, semicolon - begin))];
      at->count += count;
      begin = semicolon + 1;
    }
  }
  if (root.count == 0) return Status(Code::kNotFound, "there are no stacks");
  Picture picture(words, root.count);
  picture.Add("all", root, kMargin, 0);
  return picture.Text();
}

}  // namespace profd::client
