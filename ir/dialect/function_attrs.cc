#include "sinter/ir/dialect/function_attrs.h"

namespace sinter::ir {
namespace {

llvm::SmallVector<mlir::DictionaryAttr> Edited(llvm::ArrayRef<mlir::DictionaryAttr> attributes, size_t count,
                                               mlir::MLIRContext* context, AttrEdit edit) {
  llvm::SmallVector<mlir::DictionaryAttr> edited;
  for (unsigned i = 0; i < count; ++i) {
    mlir::NamedAttrList list;
    if (i < attributes.size() && attributes[i]) list = attributes[i];
    edit(i, list);
    edited.push_back(list.getDictionary(context));
  }
  return edited;
}

}  // namespace

void EditArgAttrs(mlir::func::FuncOp function, AttrEdit edit) {
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  function.setAllArgAttrs(Edited(attributes, function.getNumArguments(), function.getContext(), edit));
}

void EditResultAttrs(mlir::func::FuncOp function, AttrEdit edit) {
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  function.getAllResultAttrs(attributes);
  function.setAllResultAttrs(Edited(attributes, function.getNumResults(), function.getContext(), edit));
}

}  // namespace sinter::ir
