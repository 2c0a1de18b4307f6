#include "sinter/tests/codegen/plan_instructions.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_code.h"

namespace sinter::codegen {
namespace {

// Instructions whose names begin with `prefix` need `feature`.
struct Rule {
  const char* prefix;
  const char* feature;
};

constexpr Rule kAnyEncoding[] = {{"vgf2p8", "gfni"},    {"gf2p8", "gfni"},       {"popcnt", "popcnt"},
                                 {"lzcnt", "lzcnt"},    {"tzcnt", "bmi"},        {"movbe", "movbe"},
                                 {"extrq", "sse4a"},    {"insertq", "sse4a"},    {"movntsd", "sse4a"},
                                 {"movntss", "sse4a"},  {"adcx", "adx"},         {"adox", "adx"},
                                 {"aes", "aes"},        {"pclmul", "pclmul"},    {"sha1", "sha"},
                                 {"sha256", "sha"},     {"prefetchw", "prfchw"}, {"rdrand", "rdrnd"},
                                 {"rdseed", "rdseed"},  {"clwb", "clwb"},        {"clflushopt", "clflushopt"},
                                 {"movdir", "movdiri"}, {"femms", "3dnow"}};

// Features beyond AVX-512 F, BW, CD, DQ and VL, which every CPU of level x86-64-v4 has.
constexpr Rule kEvex[] = {{"vpermb", "avx512vbmi"},
                          {"vpermi2b", "avx512vbmi"},
                          {"vpermt2b", "avx512vbmi"},
                          {"vpmultishiftqb", "avx512vbmi"},
                          {"vpcompressb", "avx512vbmi2"},
                          {"vpcompressw", "avx512vbmi2"},
                          {"vpexpandb", "avx512vbmi2"},
                          {"vpexpandw", "avx512vbmi2"},
                          {"vpshld", "avx512vbmi2"},
                          {"vpshrd", "avx512vbmi2"},
                          {"vpdpbusd", "avx512vnni"},
                          {"vpdpwssd", "avx512vnni"},
                          {"vcvtne2ps2bf16", "avx512bf16"},
                          {"vcvtneps2bf16", "avx512bf16"},
                          {"vdpbf16ps", "avx512bf16"},
                          {"vpmadd52", "avx512ifma"},
                          {"vpopcntb", "avx512bitalg"},
                          {"vpopcntw", "avx512bitalg"},
                          {"vpshufbitqmb", "avx512bitalg"},
                          {"vpopcntd", "avx512vpopcntdq"},
                          {"vpopcntq", "avx512vpopcntdq"},
                          {"vp2intersect", "avx512vp2intersect"},
                          {"vaes", "vaes"},
                          {"vpclmul", "vpclmulqdq"}};

constexpr Rule kVex[] = {{"kand", "avx512f"},
                         {"kor", "avx512f"},
                         {"kxor", "avx512f"},
                         {"kxnor", "avx512f"},
                         {"knot", "avx512f"},
                         {"kmov", "avx512f"},
                         {"kshift", "avx512f"},
                         {"kunpck", "avx512f"},
                         {"ktest", "avx512f"},
                         {"kadd", "avx512f"},
                         {"vaes", "vaes"},
                         {"vpclmul", "pclmul"},
                         {"vpdp", "avxvnni"},
                         {"vpmadd52", "avxifma"},
                         {"vbcstne", "avxneconvert"},
                         {"vcvtne", "avxneconvert"},
                         {"vcvtph2ps", "f16c"},
                         {"vcvtps2ph", "f16c"},
                         {"vfmadd1", "fma"},
                         {"vfmadd2", "fma"},
                         {"vfmaddsub1", "fma"},
                         {"vfmaddsub2", "fma"},
                         {"vfmsub1", "fma"},
                         {"vfmsub2", "fma"},
                         {"vfmsubadd1", "fma"},
                         {"vfmsubadd2", "fma"},
                         {"vfnmadd1", "fma"},
                         {"vfnmadd2", "fma"},
                         {"vfnmsub1", "fma"},
                         {"vfnmsub2", "fma"},
                         {"vfnm", "fma4"},
                         {"vfm", "fma4"},
                         {"andn", "bmi"},
                         {"bextr", "bmi"},
                         {"bls", "bmi"},
                         {"bzhi", "bmi2"},
                         {"mulx", "bmi2"},
                         {"pdep", "bmi2"},
                         {"pext", "bmi2"},
                         {"rorx", "bmi2"},
                         {"sarx", "bmi2"},
                         {"shlx", "bmi2"},
                         {"shrx", "bmi2"},
                         {"cmp", "cmpccxadd"},
                         {"vsha512", "sha512"},
                         {"vsm3", "sm3"},
                         {"vsm4", "sm4"}};

template <size_t n>
std::string FeatureBy(const Rule (&rules)[n], std::string_view mnemonic) {
  for (const Rule& rule : rules) {
    if (mnemonic.starts_with(rule.prefix)) return rule.feature;
  }
  return "";
}

bool IsPrefix(uint8_t byte) {
  constexpr uint8_t kPrefixes[] = {0x66, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x67, 0xf0};
  return std::find(std::begin(kPrefixes), std::end(kPrefixes), byte) != std::end(kPrefixes);
}

// LLVM's x86 disassembler with all features enabled.
class Disassembler {
 public:
  Disassembler() {
    static const bool initialized = [] {
      llvm::InitializeNativeTarget();
      llvm::InitializeNativeTargetAsmPrinter();
      return !llvm::InitializeNativeTargetDisassembler();
    }();
    const char kTriple[] = "x86_64-unknown-linux-gnu";
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
    if (!initialized || target == nullptr) return;
    registers_.reset(target->createMCRegInfo(kTriple));
    assembler_.reset(target->createMCAsmInfo(*registers_, kTriple, llvm::MCTargetOptions()));
    names_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(kTriple, "", ""));
    context_ = std::make_unique<llvm::MCContext>(llvm::Triple(kTriple), assembler_.get(), registers_.get(),
                                                 subtarget_.get());
    decoder_.reset(target->createMCDisassembler(*subtarget_, *context_));
    printer_.reset(target->createMCInstPrinter(llvm::Triple(kTriple), /*SyntaxVariant=*/0, *assembler_,
                                               *names_, *registers_));
  }
  bool ok() const { return printer_ != nullptr && decoder_ != nullptr; }

  // Returns the instruction's size in bytes, or 0 if the bytes are no instruction.
  uint64_t Decode(llvm::ArrayRef<uint8_t> bytes, llvm::MCInst& instruction) const {
    uint64_t size = 0;
    auto status = decoder_->getInstruction(instruction, size, bytes, /*Address=*/0, llvm::nulls());
    return status == llvm::MCDisassembler::Success ? size : 0;
  }
  std::string Mnemonic(const llvm::MCInst& instruction) const {
    std::string name = printer_->getMnemonic(&instruction).first;
    for (size_t at; (at = name.find_first_of(" \t")) != std::string::npos;) {
      // After a prefix, as in "rep\tmovsb", keeps the last word, if there is one.
      if (at + 1 >= name.size()) {
        name.resize(at);
      } else {
        name.erase(0, at + 1);
      }
    }
    return name;
  }
  std::string Text(const llvm::MCInst& instruction) const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&instruction, /*Address=*/0, "", *subtarget_, stream);
    return text;
  }

 private:
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembler_;
  std::unique_ptr<llvm::MCInstrInfo> names_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

absl::Status CheckSection(const Disassembler& disassembler, llvm::ArrayRef<uint8_t> bytes,
                          const std::vector<std::string>& features) {
  for (size_t at = 0; at < bytes.size();) {
    llvm::MCInst instruction;
    const uint64_t size = disassembler.Decode(bytes.slice(at), instruction);
    if (size == 0) return absl::InvalidArgumentError(absl::StrCat("there is no instruction at byte ", at));
    const std::string needed =
        NeededFeature(std::span(bytes.data() + at, size), disassembler.Mnemonic(instruction));
    if (!needed.empty() && std::find(features.begin(), features.end(), needed) == features.end()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", disassembler.Text(instruction), "\" at byte ", at,
                                                     " needs ", needed, ", which the target lacks"));
    }
    at += size;
  }
  return absl::OkStatus();
}

}  // namespace

std::string NeededFeature(std::span<const uint8_t> instruction, std::string_view mnemonic) {
  size_t at = 0;
  while (at + 1 < instruction.size() && IsPrefix(instruction[at])) ++at;
  const uint8_t first = instruction[at];
  if (std::string known = FeatureBy(kAnyEncoding, mnemonic); !known.empty()) return known;
  if (first == 0x62) {
    const bool is_fp16 =
        at + 1 < instruction.size() && (instruction[at + 1] & 7) >= 5;  // Opcode maps 5 and 6.
    if (is_fp16) return "avx512fp16";
    const std::string beyond = FeatureBy(kEvex, mnemonic);
    return beyond.empty() ? "avx512f" : beyond;
  }
  if (first == 0xc4 || first == 0xc5) return FeatureBy(kVex, mnemonic);
  // The same byte begins "pop", whose next byte has no such map.
  if (first == 0x8f && at + 1 < instruction.size() && (instruction[at + 1] & 0x1f) >= 8) return "xop";
  if (first == 0xd5) return "egpr";
  return "";
}

absl::Status CheckInstructions(std::string_view shared_object, const std::vector<std::string>& features) {
  static const Disassembler* const disassembler = new Disassembler;
  if (!disassembler->ok()) return absl::InternalError("this LLVM cannot disassemble x86");
  llvm::MemoryBufferRef buffer(llvm::StringRef(shared_object.data(), shared_object.size()), "plan");
  auto object = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!object) return absl::InvalidArgumentError(llvm::toString(object.takeError()));
  bool has_code = false;
  for (const llvm::object::SectionRef& section : (*object)->sections()) {
    if (!section.isText()) continue;
    llvm::Expected<llvm::StringRef> bytes = section.getContents();
    if (!bytes) return absl::InvalidArgumentError(llvm::toString(bytes.takeError()));
    SINTER_RETURN_IF_ERROR(CheckSection(*disassembler, llvm::arrayRefFromStringRef(*bytes), features));
    has_code |= !bytes->empty();
  }
  return has_code ? absl::OkStatus() : absl::InvalidArgumentError("it holds no code");
}

absl::Status CheckInstructions(const Plan& plan) {
  for (const PlanCode& code : AllPlanCode(plan.table())) {
    if (code.shared_object.empty()) continue;
    std::vector<std::string> features;
    for (const flatbuffers::String* feature : *code.target->features()) features.push_back(feature->str());
    const std::string_view bytes(reinterpret_cast<const char*>(code.shared_object.data()),
                                 code.shared_object.size());
    absl::Status status = CheckInstructions(bytes, features);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the code for ", code.target->cpu()->c_str(), ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace sinter::codegen
