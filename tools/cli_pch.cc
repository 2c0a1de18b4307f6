// The only source of the target that builds the precompiled header cli_pch.h.
