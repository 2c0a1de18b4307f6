#!/usr/bin/env python3
"""Times ops in ONNX Runtime on two cores and prints one JSON object a line; no training steps.

usage: onnx_cpu.py [WORKLOAD ...]

Operands and results are bound to memory once, so that no call allocates.
"""
import sys

import workloads as W
from measure import THREADS, report, run_cases, time_ms, uniform

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

OPSET = 20  # The first with Gelu.
VERSION = f"onnxruntime {onnxruntime.__version__}"


def operation(workload, nodes, minimal_bytes, constants=None, **operands):
    """Times a graph of these nodes with the result `y`, which has the shape of the first operand."""
    shape = next(iter(operands.values())).shape
    described = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in operands.items()]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    initial = [onnx.numpy_helper.from_array(np.array(v, np.float32), n) for n, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, workload, described, [result], initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    kept = {n: onnxruntime.OrtValue.ortvalue_from_numpy(a) for n, a in operands.items()}
    kept["y"] = onnxruntime.OrtValue.ortvalue_from_numpy(np.empty(shape, np.float32))
    for name in operands:
        binding.bind_ortvalue_input(name, kept[name])
    binding.bind_ortvalue_output("y", kept["y"])
    timing = time_ms(lambda: session.run_with_iobinding(binding))
    report(workload, "onnxruntime", "bound", minimal_bytes, **timing, version=VERSION)


def chain():
    n = W.CHAIN_ELEMENTS
    nodes = [helper.make_node("Mul", ["a", "x"], ["ax"]), helper.make_node("Add", ["ax", "b"], ["axb"]),
             helper.make_node("Gelu", ["axb"], ["g"], approximate="tanh"), helper.make_node("Sigmoid", ["z"], ["s"]),
             helper.make_node("Mul", ["g", "s"], ["gs"]), helper.make_node("Add", ["gs", "x"], ["y"])]
    operation("chain_f32", nodes, 12 * n, {"a": 1.5, "b": 0.5}, x=uniform(1, (n,)), z=uniform(2, (n,)))


def softmax():
    x = uniform(1, (W.ROWS, W.COLUMNS))
    operation("softmax_f32", [helper.make_node("Softmax", ["x"], ["y"], axis=-1)], 8 * x.size, x=x)


def layer_norm():
    x = uniform(1, (W.ROWS, W.COLUMNS))
    node = helper.make_node("LayerNormalization", ["x", "gain", "bias"], ["y"], axis=-1, epsilon=1e-5)
    operation("layer_norm_f32", [node], 8 * x.size, x=x, gain=uniform(2, (W.COLUMNS,)), bias=uniform(3, (W.COLUMNS,)))


OPERATIONS = {"chain_f32": chain, "softmax_f32": softmax, "layer_norm_f32": layer_norm}
# compare.py names workloads that only other peers have.
TRAINING = {"lenet", "mlp6", "char_gpt"}
wanted = [name for name in sys.argv[1:] if name not in TRAINING]
if wanted or len(sys.argv) == 1:
    run_cases(OPERATIONS, wanted, "onnxruntime")
