// Reads {secret, headers, body} from standard input, and prints "accepted" or why the
// reference implementation refuses the message.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secret, headers, body } = JSON.parse(readFileSync(0, "utf8"));
try {
  new Webhook(secret).verify(body, headers);
  console.log("accepted");
} catch (error) {
  console.log(error.message);
}
