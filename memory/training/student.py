"""The student: one vector for each piece, a text is the normalised sum of its pieces' vectors.

A piece that stands in a text n times counts `1 + ln n` times: code repeats its names, and the tenth says no more than the
third. How much a piece matters is the length of its vector, so no weight is stored beside it.
"""

import math

import numpy
import torch


class Bags:
    """Texts as bags of pieces, in one flat array each of ids and of weights."""

    def __init__(self, lists):
        self.starts = numpy.zeros(len(lists) + 1, dtype=numpy.int64)
        ids, weights = [], []
        for at, one in enumerate(lists):
            unique, counts = numpy.unique(numpy.array(one, dtype=numpy.int32), return_counts=True)
            ids.append(unique)
            weights.append(1 + numpy.log(counts))
            self.starts[at + 1] = self.starts[at] + len(unique)
        self.ids = numpy.concatenate(ids).astype(numpy.int32)
        self.weights = numpy.concatenate(weights).astype(numpy.float32)

    def __len__(self):
        return len(self.starts) - 1

    def take(self, chosen):
        """(ids, weights, offsets) of some texts, as an embedding bag wants them."""
        spans = [(self.starts[at], self.starts[at + 1]) for at in chosen]
        places = numpy.concatenate([numpy.arange(*span) for span in spans])
        offsets = numpy.cumsum([0] + [end - start for start, end in spans[:-1]])
        return (torch.from_numpy(self.ids[places].astype(numpy.int64)), torch.from_numpy(self.weights[places]),
                torch.from_numpy(offsets))


def embed(table, bags, chosen):
    """Unit rows for some texts."""
    ids, weights, offsets = bags.take(chosen)
    sums = torch.nn.functional.embedding_bag(ids, table, offsets, mode="sum", per_sample_weights=weights)
    return torch.nn.functional.normalize(sums, dim=1)


@torch.no_grad()
def embed_all(table, bags, size=4096):
    """Unit rows for all texts."""
    return torch.cat([embed(table, bags, range(at, min(at + size, len(bags)))) for at in range(0, len(bags), size)])


def reciprocal_rank(queries, texts, most=10):
    """MRR@10 where query i wants text i. Ties count against us."""
    scores = queries @ texts.T
    own = scores.diagonal()[:, None]
    rank = (scores >= own).sum(1)
    return float(torch.where(rank <= most, 1.0 / rank, torch.zeros(())).mean())


def components(rows, dimensions):
    """Principal components of the rows: a matrix that projects to `dimensions`, and the mean of the rows."""
    mean = rows.mean(0)
    centred = rows - mean
    _, vectors = torch.linalg.eigh(centred.T @ centred)
    return vectors.flip(1)[:, :dimensions], mean


def zipf(counts):
    """Arora et al., "A Simple but Tough-to-Beat Baseline" (2017): a / (a + p) for a piece of probability p."""
    share = (counts + 1) / (counts + 1).sum()
    return 1e-3 / (1e-3 + share)


def learning_rate(step, steps, peak):
    """Learning rate: a warm-up over the first twentieth, then a cosine decay."""
    warm = max(1, steps // 20)
    return peak * min(1, (step + 1) / warm) * 0.5 * (1 + math.cos(math.pi * step / steps))
