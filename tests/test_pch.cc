// The precompiled header needs a target; this file is its only source.
