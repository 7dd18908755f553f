// Verifies messages with packages that are not ours: http-message-sig all of them, web-bot-auth those whose
// Signature-Agent is a string, the form that it knows. Each is then given to the verifier for another host, after its
// time and with another key, and must be refused.
import { createHash, webcrypto as nodeCrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { component, verifySignature, webcrypto } from "http-message-sig";
import { verify } from "web-bot-auth";
import { verifierFromJWK } from "web-bot-auth/crypto";

const importKey = (jwk) =>
  nodeCrypto.subtle.importKey("jwk", { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, { name: "Ed25519" }, true, ["verify"]);

const otherKey = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };

// required are the components that a signature must cover.
function required(m) {
  switch (m.draft) {
    case "directory":
      return [component("@authority", { req: true }), "content-digest"];
    case "architecture-03":
      return ["@authority", "signature-agent"];
    default:
      return ["@authority", component("signature-agent", { key: "sig1" })];
  }
}

function message(m) {
  const fields = m.fields.map(([name, value]) => ({ name, value }));
  const request = { kind: "request", method: m.method, targetUri: m.url, fields: m.draft === "directory" ? [] : fields };
  return m.draft === "directory" ? { kind: "response", status: 200, fields, request } : request;
}

async function check(m, key) {
  await verifySignature(message(m), {
    policy: {
      algorithms: ["ed25519"], requiredComponents: required(m), now: m.at,
      requiredParameters: ["created", "expires", "keyid", "tag"],
      validate: (s) => s.parameters.tag === (m.draft === "directory" ? "http-message-signatures-directory" : "web-bot-auth"),
    },
    async resolveVerifier(candidate) {
      const jwk = key ?? m.keys.keys.find((k) => k.kid === candidate.parameters.keyid);
      const thumbprint = createHash("sha256").update(`{"crv":"${jwk.crv}","kty":"${jwk.kty}","x":"${jwk.x}"}`).digest("base64url");
      if (!key && thumbprint !== candidate.parameters.keyid) throw new Error("keyid is not the thumbprint of the key");
      return webcrypto.verifier(await importKey(jwk));
    },
  });
  if (m.body !== undefined) {
    const digest = `sha-256=:${createHash("sha256").update(m.body).digest("base64")}:`;
    const sent = m.fields.find(([name]) => name.toLowerCase() === "content-digest")[1];
    if (sent !== digest) throw new Error(`Content-Digest ${sent}, and the body has ${digest}`);
  }
}

async function refused(m, key) {
  try {
    await check(m, key);
  } catch {
    return;
  }
  throw new Error("a forgery was verified");
}

let verified = 0;
let byOther = 0;
for (const m of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    await check(m);
    verified += 1;
    await refused({ ...m, url: m.url.replace(/\/\/[^/]*/, "//other.test") });
    await refused({ ...m, at: m.at + 366 * 86400 });
    await refused({ ...m, at: m.at - 3600 });
    await refused(m, otherKey);
    if (m.draft === "architecture-03") {
      const headers = Object.fromEntries(m.fields);
      await verify({ method: m.method, url: m.url, headers }, await verifierFromJWK(m.keys.keys[0]));
      byOther += 1;
    }
  } catch (error) {
    console.error(`${m.draft} ${m.url}: ${error.code ?? ""} ${error.stack}`);
    process.exit(1);
  }
}
console.log(`${verified} requests verified, ${byOther} by web-bot-auth too`);
