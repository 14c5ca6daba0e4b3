"""Module."""
import os.path as p, sys
from .inner import (a, b as c)
from x import *

LIMIT = 3

@decorate(1)
class Bucket(Base, metaclass=Meta):
    """A bucket."""
    tokens: int = 0

    # About refill.
    @property
    async def refill(self, by: int = 2) -> "Result":
        self.check(by)
        other = lambda: helper(by)
        def inner():
            return os.path.join(by)
        return Bucket(by)

def run(x: List[int]) -> None:
    raise ValueError(x)
