"""Reads a paid route, and pays for it with what a signer signs: pay.py URL SIGNER DAO."""

import json
import sys
from urllib.request import Request, urlopen

import pnyx

url, signer, dao = sys.argv[1:]


def pay(request: Request, timeout: float) -> pnyx.Response:
    response = pnyx.send(request, timeout)
    if response.status == 402:
        with urlopen(signer, response.headers["payment-required"].encode()) as signed:
            request.add_header("PAYMENT-SIGNATURE", signed.read().decode())
        response = pnyx.send(request, timeout)
    return response


print(json.dumps(pnyx.Pnyx(url, send=pay).timeline(dao, metric="votes_cast").data))
