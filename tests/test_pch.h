// Precompiles the headers of nearly every test; GoogleMock's matchers are three quarters of them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/runtime_pch.h"
