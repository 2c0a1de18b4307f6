#include "sinter/tests/house/class_sizes.h"

#include <map>
#include <regex>
#include <utility>

#include "sinter/tests/house/function_spans.h"
#include "sinter/tests/house/source_tree.h"

namespace sinter::house {
namespace {

// Adds the classes whose bodies are in the file.
void AddBodies(const SourceFile& file, std::map<std::pair<std::string, std::string>, ClassSize>& classes) {
  static const std::regex kClass(R"(^( *)(?:class|struct) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: : .*)? ?\{$)");
  for (size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(file.lines[i], match, kClass)) continue;
    const std::string end = match[1].str() + "}";
    size_t last = i + 1;
    while (last < file.lines.size() && file.lines[last].rfind(end, 0) != 0) ++last;
    ClassSize& c = classes[{file.Folder(), match[2].str()}];
    if (c.name.empty()) c = {match[2].str(), file.path, 0, 0};
    c.lines += last - i + 1;
  }
}

// Adds the methods that the file defines outside of their class.
void AddMethods(const SourceFile& file, std::map<std::pair<std::string, std::string>, ClassSize>& classes) {
  static const std::regex kMethod(R"(\b(\w+)::~?\w+\()");
  for (const FunctionSpan& f : FunctionSpans(file)) {
    std::smatch match;
    if (!std::regex_search(f.signature, match, kMethod)) continue;
    const auto found = classes.find({file.Folder(), match[1].str()});
    if (found == classes.end()) continue;
    found->second.lines += f.lines;
    ++found->second.outside_methods;
  }
}

}  // namespace

std::vector<ClassSize> ClassSizes() {
  static const std::regex kProduct("(ir|passes|codegen|runtime|kernels|frontend|tools)/.*\\.(cc|h)");
  std::map<std::pair<std::string, std::string>, ClassSize> classes;
  for (const SourceFile& file : SourceTree()) {
    if (std::regex_match(file.path, kProduct)) AddBodies(file, classes);
  }
  for (const SourceFile& file : SourceTree()) {
    if (std::regex_match(file.path, kProduct)) AddMethods(file, classes);
  }
  std::vector<ClassSize> sizes;
  for (auto& [key, size] : classes) sizes.push_back(std::move(size));
  return sizes;
}

}  // namespace sinter::house
