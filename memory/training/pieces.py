"""Splits text into word pieces as `memory/text/src/embed/pieces.rs` does, with the reference tokenizer.

Names are cut where their case changes (`parseHTTPHeader` is `parse`, `HTTP`, `Header`) before anything is lowercased. The
rest is BERT's: clean, lowercase, strip accents, cut at blanks and punctuation, then the longest known piece, again and
again. Pieces without a letter or digit are dropped, and so are unknown words.
"""

import re

import tokenizers

CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
UNKNOWN = "[UNK]"
LONGEST_WORD = 64


def cut_names(text):
    """The text with a blank wherever the case changes inside a name."""
    return CASE_CHANGE.sub(" ", text)


def normalizer():
    """BERT's own, for an uncased model."""
    return tokenizers.normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)


def words_of(text):
    """The lowercase words, without punctuation, that are split into pieces."""
    normal = normalizer().normalize_str(cut_names(text))
    return [word for word, _ in tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normal) if word[:1].isalnum()]


def tokenizer(vocabulary):
    """The reference tokenizer over a list of pieces; ids are positions in the list; the unknown id follows the last."""
    ids = {piece: place for place, piece in enumerate(vocabulary)}
    ids[UNKNOWN] = len(vocabulary)
    model = tokenizers.models.WordPiece(ids, unk_token=UNKNOWN, max_input_chars_per_word=LONGEST_WORD)
    made = tokenizers.Tokenizer(model)
    made.normalizer = normalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return made


def pieces_of(made, texts, most=None):
    """Known ids of each text, up to a maximum."""
    unknown = made.token_to_id(UNKNOWN)
    encoded = made.encode_batch_fast([cut_names(text) for text in texts], add_special_tokens=False)
    return [[one for one in encoding.ids if one != unknown][:most] for encoding in encoded]
