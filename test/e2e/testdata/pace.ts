// Reads a proposal with ten calls at a time, three times each: pace.ts URL KEY.
import { Pnyx } from "./pnyx.ts";

const [url = "", key = ""] = process.argv.slice(2);
const pnyx = new Pnyx(url, { token: process.env.PNYX_TOKEN });

async function read(): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const [detail, rows] = await Promise.all([pnyx.proposal(key), pnyx.proposals({ limit: 1 }).page()]);
    console.log(`${detail.data.title} ${rows.data[0]?.proposalKey}`);
  }
}

await Promise.all(Array.from({ length: 10 }, read));
