"""Counts the ballots of a proposal by choice: ballots.py URL TITLE."""

import json
import os
import sys
from collections import Counter

from pnyx import Pnyx

pnyx = Pnyx(sys.argv[1], token=os.environ["PNYX_TOKEN"])
found = pnyx.resolve_proposal(title=sys.argv[2], limit=1).data["candidates"] or sys.exit("no such proposal")
counts = Counter(ballot["choice"]["label"] for ballot in pnyx.ballots(found[0]["proposalKey"]))
print(json.dumps(counts))
