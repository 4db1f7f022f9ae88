"""Reads a proposal with ten threads, three times each: pace.py URL KEY."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from pnyx import Pnyx

url, key = sys.argv[1:]
pnyx = Pnyx(url, token=os.environ["PNYX_TOKEN"])


def read(_: int) -> str:
    detail, row = pnyx.proposal(key).data, pnyx.proposals(limit=1).page().data[0]
    return f"{detail['title']} {row['proposalKey']}"


with ThreadPoolExecutor(10) as threads:
    for line in threads.map(read, range(30)):
        print(line)
