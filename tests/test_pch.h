// What nearly every test needs, precompiled once; GoogleMock's matchers are three quarters of it.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/runtime_pch.h"
