"""A small text encoder of CLIP's kind, made for tests: a tokenizer, a graph for texts and one for pictures.

The graphs are real ONNX: pictures are averaged in cells of four by four pixels and turned into a vector; a text is the
sum of its pieces' vectors, which the same matrix turns. Both then get the offset that tells pictures and texts apart.
"""

import hashlib
import json

import numpy as np
import onnx
from onnx import helper, numpy_helper
from safetensors.numpy import save_file

SIDE = 32  # pixels of a picture
N_CELLS, N_COLUMNS = 192, 96  # 8 x 8 cells of three colours
START, END = "<|startoftext|>", "<|endoftext|>"
CLIP_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def letters():
    """The 256 characters that stand for bytes, in the order of CLIP's vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(byte) for byte in plain] + [chr(256 + n) for n in range(256 - len(plain))]


def merges_of(words):
    """Pairs that make every word one piece, letter by letter from the left."""
    found = {}
    for word in words:
        pieces = [*word[:-1], word[-1] + "</w>"]
        while len(pieces) > 1:
            found[tuple(pieces[:2])] = None
            pieces[:2] = ["".join(pieces[:2])]
    return list(found)


def tokenizer_values(merges):
    """What `tokenizers` writes for a tokenizer of CLIP's kind."""
    pieces = [
        *letters(),
        *(letter + "</w>" for letter in letters()),
        *("".join(pair) for pair in merges),
        START,
        END,
    ]
    ids = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
                {"type": "Lowercase"},
            ],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": CLIP_WORDS}, "behavior": "Removed", "invert": True},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            ],
        },
        "post_processor": {
            "type": "RobertaProcessing",
            "sep": [END, ids[END]],
            "cls": [START, ids[START]],
            "trim_offsets": False,
            "add_prefix_space": False,
        },
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": END,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "</w>",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": ids,
            "merges": [list(pair) for pair in merges],
        },
    }


def model_bytes(nodes, inputs, output, constants):
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "encoder", inputs, [output], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def image_encoder(mapping, offset):
    nodes = [
        helper.make_node("AveragePool", ["pixels"], ["cells"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Flatten", ["cells"], ["flat"]),
        helper.make_node("MatMul", ["flat", "mapping"], ["turned"]),
        helper.make_node("Add", ["turned", "offset"], ["image_embeds"]),
    ]
    pixels = helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])
    output = helper.make_tensor_value_info("image_embeds", onnx.TensorProto.FLOAT, ["batch", N_COLUMNS])
    return model_bytes(nodes, [pixels], output, {"mapping": mapping, "offset": offset})


def text_encoder(table, mapping, offset, length=None, mask=False, dtype=onnx.TensorProto.INT64):
    """`length` for one that takes so many numbers and no other; `mask` for one that wants to know which count."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("ReduceSum", ["rows", "axis"], ["sum"], keepdims=0),
        helper.make_node("MatMul", ["sum", "mapping"], ["turned"]),
        helper.make_node("Add", ["turned", "offset"], ["text_embeds"]),
    ]
    names = ["input_ids"]
    if mask:
        names.append("attention_mask")
        nodes[1:1] = [
            helper.make_node("Cast", ["attention_mask"], ["float_mask"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["float_mask", "last"], ["wide_mask"]),
            helper.make_node("Mul", ["rows", "wide_mask"], ["kept"]),
        ]
        nodes[4] = helper.make_node("ReduceSum", ["kept", "axis"], ["sum"], keepdims=0)
    inputs = [helper.make_tensor_value_info(name, dtype, ["batch", length or "length"]) for name in names]
    output = helper.make_tensor_value_info("text_embeds", onnx.TensorProto.FLOAT, ["batch", N_COLUMNS])
    constants = {"table": table, "mapping": mapping, "offset": offset, "axis": np.array([1])}
    if mask:
        constants["last"] = np.array([2])
    return model_bytes(nodes, inputs, output, constants)


def write_network(folder, looks, *, seed=5, noise=0.0, manifest=None, **text):
    """Image and text encoder in a folder; the manifest's path.

    Parameters
    ----------
    looks : word -> (192,) how a picture of it looks, for words that the text encoder knows
    noise : by how much it is mistaken about them
    text : options of `text_encoder`
    """
    rng = np.random.default_rng(seed)
    mapping = rng.normal(size=(N_CELLS, N_COLUMNS)).astype(np.float32) / 14
    gap = 2 * rng.normal(size=N_COLUMNS).astype(np.float32)
    values = tokenizer_values(merges_of(looks))
    ids = values["model"]["vocab"]
    # Pieces that mean nothing still change a text; a word's own piece says how it looks.
    table = 0.15 * rng.normal(size=(len(ids), N_CELLS)).astype(np.float32)
    for word, look in looks.items():
        table[ids[word + "</w>"]] = look + noise * rng.normal(size=N_CELLS)
    (folder / "vision.onnx").write_bytes(image_encoder(mapping, gap))
    (folder / "text.onnx").write_bytes(text_encoder(table, mapping, -gap, **text))
    (folder / "tokenizer.json").write_text(json.dumps(values))
    facts = {
        "model": "vision.onnx",
        "size": SIDE,
        "mean": [127.5] * 3,
        "std": [127.5] * 3,
        "pooled": "image_embeds",
        "text": "text.onnx",
        "tokenizer": "tokenizer.json",
        **(manifest or {}),
    }
    path = folder / "clip.json"
    path.write_text(json.dumps({key: value for key, value in facts.items() if value is not None}))
    return path


def write_table(path, words, vectors, model):
    """A table of word vectors for an image model, as docs/vision.md makes it."""
    owner = hashlib.sha256(model.read_bytes()).hexdigest()
    save_file({"vectors": vectors}, path, metadata={"words": json.dumps(words), "network": owner})
