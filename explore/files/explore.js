// The page as the visitor's token opens it: the same address is read again with the token,
// and its content replaces what is shown.
import {token, onToken, request} from "/docs/page.js";

// How long the box is left alone before its token is sent, in milliseconds.
const pause = 400;
let waiting;
let latest = 0;

async function show() {
  const turn = ++latest;
  const shown = document.querySelector("#main");
  shown.ariaBusy = "true";
  try {
    const answer = await request(location.pathname + location.search, {cache: "no-store", headers: {accept: "text/html"}});
    const text = await answer.text();
    if (turn !== latest) {
      return;
    }
    const read = new DOMParser().parseFromString(text, "text/html");
    const main = read.querySelector("#main");
    if (!main) {
      throw new Error(`the server answered ${answer.status}`);
    }
    shown.replaceChildren(...main.childNodes);
    document.title = read.title;
  } catch (problem) {
    const status = document.querySelector("#explore-status");
    if (turn === latest && status) {
      status.hidden = false;
      status.textContent = `The page could not be read with the token: ${problem.message}.`;
    }
  } finally {
    if (turn === latest) {
      shown.ariaBusy = null;
    }
  }
}

onToken(() => {
  clearTimeout(waiting);
  waiting = setTimeout(show, pause);
});
if (token()) {
  show();
}
