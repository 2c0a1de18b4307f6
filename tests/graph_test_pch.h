// Precompiled header of tests that build graphs.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/runtime_pch.h"
