// Reads a paid route, and pays for it with what a signer signs: pay.ts URL SIGNER DAO.
import { Pnyx } from "./pnyx.ts";

const [url = "", signer = "", dao = ""] = process.argv.slice(2);

async function pay(input: string, init: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (response.status !== 402) return response;
  const signed = await fetch(signer, { method: "POST", body: response.headers.get("payment-required") });
  return fetch(input, { ...init, headers: { ...init.headers, "payment-signature": await signed.text() } });
}

const { data } = await new Pnyx(url, { fetch: pay }).timeline(dao, { metric: "votes_cast" });
console.log(JSON.stringify(data));
