// The token box of every page, and requests with the token. The token is kept in this tab
// (sessionStorage), and sent to this server alone, in the header x-service-api-token.

const key = "pnyx.token";
const box = document.querySelector("#token");
const listeners = [];

// token returns the token in the box; "" for none.
export function token() {
  return sessionStorage.getItem(key) ?? "";
}

// onToken calls a function with the token whenever it has changed.
export function onToken(listener) {
  listeners.push(listener);
}

// request gets a path of this server, with the token if there is one.
export function request(path, options = {}) {
  const address = new URL(path, location.origin);
  if (address.origin !== location.origin) {
    throw new TypeError(`${path} is not a path of this server`);
  }
  const headers = new Headers(options.headers);
  if (token()) {
    headers.set("x-service-api-token", token());
  }
  return fetch(address, {...options, headers, credentials: "omit", redirect: "error"});
}

// A link may bring a token in its fragment, which no server sees; it is not kept in the address.
const brought = /^#token=([!-~]+)$/.exec(location.hash);
if (brought) {
  sessionStorage.setItem(key, brought[1]);
  history.replaceState(null, "", location.pathname + location.search);
}

box.value = token();
box.closest("label").hidden = false;
box.addEventListener("input", () => {
  // A header has no other characters, and no token has.
  const entered = box.value.replace(/[^!-~]/g, "");
  if (entered === token()) {
    return;
  }
  if (entered) {
    sessionStorage.setItem(key, entered);
  } else {
    sessionStorage.removeItem(key);
  }
  for (const listener of listeners) {
    listener(entered);
  }
});
