// The passkeys of the login: a browser has no other way to use them than a script.
"use strict";

const decode = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const encode = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

// post sends a request of a ceremony, and returns the answer.
async function post(path, body) {
  const answer = await fetch(path, { method: "POST", body: body && JSON.stringify(body) });
  const said = await answer.json();
  if (said.problem) throw new Error(said.problem);
  return said;
}

// sign returns what an authenticator answers to the options of a login or of a new passkey.
async function sign({ publicKey }) {
  publicKey.challenge = decode(publicKey.challenge);
  for (const known of publicKey.excludeCredentials || []) known.id = decode(known.id);
  for (const known of publicKey.allowCredentials || []) known.id = decode(known.id);
  let made;
  if (publicKey.user) {
    publicKey.user.id = decode(publicKey.user.id);
    made = await navigator.credentials.create({ publicKey });
  } else {
    made = await navigator.credentials.get({ publicKey });
  }
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (made.response[name]) response[name] = encode(made.response[name]);
  }
  if (made.response.getTransports) response.transports = made.response.getTransports();
  return { id: made.id, rawId: encode(made.rawId), type: made.type, response, clientExtensionResults: {},
    authenticatorAttachment: made.authenticatorAttachment || undefined };
}

for (const button of document.querySelectorAll("button[data-passkey]")) {
  const path = button.dataset.passkey;
  const problem = document.getElementById("problem");
  if (!window.PublicKeyCredential) {
    button.disabled = true;
    problem.textContent = "This browser has no passkeys.";
    problem.hidden = false;
  }
  button.addEventListener("click", async () => {
    button.disabled = true;
    problem.hidden = true;
    try {
      const { next } = await post(path, await sign((await post(path)).options));
      if (next === "done") {
        document.getElementById("form").hidden = true;
        document.getElementById("done").hidden = false;
        document.getElementById("done").focus();
      } else {
        location.assign(next);
      }
    } catch (error) {
      problem.textContent = error.name === "NotAllowedError" ? "The passkey was not used. Try again." : error.message;
      problem.hidden = false;
      button.disabled = false;
    }
  });
}
