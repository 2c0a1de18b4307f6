// Sessions, their variables and their checkpoints.
#include <memory>
#include <string>
#include <utility>

#include "sinter/runtime/c/call.h"
#include "sinter/runtime/c/handles.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"

using namespace sinter::c_interface;  // NOLINT(google-build-using-namespace): the functions below are C.

namespace {

absl::StatusOr<sinter::SessionOptions> OptionsOf(const sn_session_options* given) {
  sn_session_options options;
  SINTER_RETURN_IF_ERROR(ReadOptions(given, "sn_session_options", options));
  if (options.threads < 0) {
    return absl::InvalidArgumentError(absl::StrCat("sn_session_options::threads is ", options.threads,
                                                   ": write 0 for one per core, or a number"));
  }
  sinter::SessionOptions result;
  result.threads = options.threads;
  if (options.memory_limit != 0) result.memory_limit = sinter::MemoryLimit{.bytes = options.memory_limit};
  if (options.tuning_file != nullptr) result.tuning.file = options.tuning_file;
  if (options.expected_hash != nullptr) result.expected_hash = options.expected_hash;
  if (options.any_order != 0) result.cpu_matmuls = sinter::CpuMatmuls::kOneDnn;
  result.poison = options.poison != 0;
  return result;
}

absl::Status GiveSession(absl::StatusOr<sinter::Session> session, sn_session** out) {
  SINTER_RETURN_IF_ERROR(session.status());
  *out = new sn_session{std::make_shared<sinter::Session>(*std::move(session))};
  return absl::OkStatus();
}

absl::Status CheckVariable(const void* session, const char* name, const void* out) {
  SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
  SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
  return CheckPointer(name, "name");
}

}  // namespace

sn_code sn_session_create(const sn_plan* plan, const sn_session_options* options, sn_session** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(plan, "plan"));
    SINTER_ASSIGN_OR_RETURN(const sinter::SessionOptions read, OptionsOf(options));
    return GiveSession(sinter::Session::Create(plan->plan.Share(), read), out);
  });
}

sn_code sn_session_share(const sn_session* session, const sn_session_options* options, sn_session** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    SINTER_ASSIGN_OR_RETURN(const sinter::SessionOptions read, OptionsOf(options));
    return GiveSession(session->session->Share(read), out);
  });
}

void sn_session_free(sn_session* session) { delete session; }

sn_code sn_session_synchronize(sn_session* session) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    return session->session->Synchronize();
  });
}

sn_code sn_session_memory(const sn_session* session, const char* device, int64_t* bytes) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    SINTER_RETURN_IF_ERROR(CheckPointer(bytes, "bytes"));
    if (device == nullptr) {
      *bytes = session->session->memory().used;
      return absl::OkStatus();
    }
    SINTER_ASSIGN_OR_RETURN(const sinter::Device named, sinter::Device::Parse(device));
    *bytes = session->session->memory(named).used;
    return absl::OkStatus();
  });
}

sn_code sn_variable_read(const sn_session* session, const char* name, sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckVariable(session, name, out));
    SINTER_ASSIGN_OR_RETURN(sinter::HostTensor value, session->session->ReadVariable(name));
    return GiveTensor(std::move(value), nullptr, out);
  });
}

sn_code sn_variable_view(const sn_session* session, const char* name, sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckVariable(session, name, out));
    SINTER_ASSIGN_OR_RETURN(sinter::HostTensor value, session->session->ViewVariable(name));
    return GiveTensor(std::move(value), session->session, out);
  });
}

sn_code sn_variable_write(sn_session* session, const char* name, const sn_tensor* tensor) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    SINTER_RETURN_IF_ERROR(CheckPointer(name, "name"));
    SINTER_RETURN_IF_ERROR(CheckPointer(tensor, "tensor"));
    return session->session->WriteVariable(name, tensor->storage->tensor);
  });
}

sn_code sn_variables_reset(sn_session* session) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    return session->session->ResetVariables();
  });
}

sn_code sn_log_read(sn_session* session, const char* name, sn_tensor** out, int64_t* lost) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckVariable(session, name, out));
    SINTER_ASSIGN_OR_RETURN(const sinter::LogValues log, session->session->ReadLog(name));
    SINTER_ASSIGN_OR_RETURN(
        sinter::HostTensor values,
        sinter::HostTensor::FromVector<double>({static_cast<int64_t>(log.values.size())}, log.values));
    if (lost != nullptr) *lost = log.lost;
    return GiveTensor(std::move(values), nullptr, out);
  });
}

sn_code sn_checkpoint_save(const sn_session* session, const char* path, int32_t count,
                           const char* const* keys, const char* const* values) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    SINTER_RETURN_IF_ERROR(CheckPointer(path, "path"));
    if (count < 0) return absl::InvalidArgumentError(absl::StrCat("`count` is ", count));
    sinter::Metadata metadata;
    for (int32_t i = 0; i < count; ++i) {
      SINTER_RETURN_IF_ERROR(CheckPointer(keys, "keys"));
      SINTER_RETURN_IF_ERROR(CheckPointer(values, "values"));
      SINTER_RETURN_IF_ERROR(CheckPointer(keys[i], "keys[i]"));
      SINTER_RETURN_IF_ERROR(CheckPointer(values[i], "values[i]"));
      if (!metadata.emplace(keys[i], values[i]).second) {
        return absl::InvalidArgumentError(absl::StrCat("`keys` has \"", keys[i], "\" twice"));
      }
    }
    return sinter::SaveCheckpoint(*session->session, path, metadata);
  });
}

sn_code sn_checkpoint_load(sn_session* session, const char* path, const sn_load_options* options,
                           sn_metadata** metadata) {
  return Call([&]() -> absl::Status {
    if (metadata != nullptr) *metadata = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(session, "session"));
    SINTER_RETURN_IF_ERROR(CheckPointer(path, "path"));
    sn_load_options read;
    SINTER_RETURN_IF_ERROR(ReadOptions(options, "sn_load_options", read));
    sinter::LoadOptions load;
    load.allow_unchecked = read.allow_unchecked != 0;
    for (int64_t i = 0; i < read.num_only; ++i) {
      SINTER_RETURN_IF_ERROR(CheckPointer(read.only, "only"));
      SINTER_RETURN_IF_ERROR(CheckPointer(read.only[i], "only[i]"));
      load.only.emplace_back(read.only[i]);
    }
    SINTER_ASSIGN_OR_RETURN(const sinter::Metadata found,
                            sinter::LoadCheckpoint(*session->session, path, load));
    if (metadata != nullptr) *metadata = new sn_metadata{{found.begin(), found.end()}};
    return absl::OkStatus();
  });
}

void sn_metadata_free(sn_metadata* metadata) { delete metadata; }

int32_t sn_metadata_count(const sn_metadata* metadata) {
  return metadata == nullptr ? 0 : static_cast<int32_t>(metadata->entries.size());
}

sn_code sn_metadata_entry(const sn_metadata* metadata, int32_t i, const char** key, const char** value) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(metadata, "metadata"));
    if (i < 0 || i >= sn_metadata_count(metadata)) {
      return absl::NotFoundError(
          absl::StrCat("there is no entry ", i, ": there are ", metadata->entries.size()));
    }
    const auto& entry = metadata->entries[static_cast<size_t>(i)];
    if (key != nullptr) *key = entry.first.c_str();
    if (value != nullptr) *value = entry.second.c_str();
    return absl::OkStatus();
  });
}
