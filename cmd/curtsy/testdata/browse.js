// What a page came to, in the browser that has opened it. See crawltest.Ordeal for the data-want attributes; a page
// without them is asked what any page can be asked.
(async () => {
  const out = {page: "", links: [], images: [], wrong: [], styles: [], scripts: [], fonts: []};
  const within = (promise, ms) => Promise.race([promise, new Promise(done => setTimeout(done, ms))]);
  const size = el => el.naturalWidth + "x" + el.naturalHeight;
  const load = url => within(new Promise(done => {
    const img = new Image();
    img.onload = () => done(size(img));
    img.onerror = () => done("nothing");
    img.src = url;
  }), 5000);
  const say = (list, el, want, got) => list.push(`<${el.localName}> ${el.getAttribute("src") || el.getAttribute("href") || el.id || ""}: ${got}, want ${want}`);
  const until = async (good, ms) => { for (let i = 0; i < ms / 20 && !good(); i++) await new Promise(done => setTimeout(done, 20)); };

  const inspect = async (doc, win) => {
    for (const img of doc.querySelectorAll("img")) img.loading = "eager";
    const imgs = [...doc.querySelectorAll("img")].filter(img => img.currentSrc || img.src);
    await until(() => imgs.every(img => img.complete), 5000);
    for (const img of imgs) {
      if (!img.naturalWidth) out.images.push(img.currentSrc || img.src);
      else if (img.dataset.want && img.dataset.want !== size(img)) say(out.wrong, img, img.dataset.want, size(img));
    }
    for (const el of doc.querySelectorAll("image[data-want], feImage[data-want], link[data-want]")) {
      const got = await load(el.href.baseVal === undefined ? el.href : new URL(el.href.baseVal, doc.baseURI).href);
      if (got !== el.dataset.want) say(out.wrong, el, el.dataset.want, got);
    }
    for (const el of doc.querySelectorAll("[data-css]")) {
      const value = win.getComputedStyle(el, el.dataset.pseudo)[el.dataset.css] || "";
      const got = [];
      for (const m of value.matchAll(/url\("((?:[^"\\]|\\.)*)"\)/g)) got.push(await load(m[1].replace(/\\(.)/g, "$1")));
      if (got.join(" ") !== el.dataset.want) say(out.wrong, el, el.dataset.want, got.join(" ") || "none in " + value);
    }
    for (const el of doc.querySelectorAll("[data-want-box]")) {
      const box = () => { const r = el.getBoundingClientRect(); return Math.round(r.width) + "x" + Math.round(r.height); };
      await until(() => box() === el.dataset.wantBox, 3000);
      if (box() !== el.dataset.wantBox) say(out.wrong, el, el.dataset.wantBox, box());
    }
    for (const el of doc.querySelectorAll("[data-want-seconds]")) {
      await until(() => el.readyState >= 1 || el.error, 5000);
      const got = (el.duration || 0).toFixed(1);
      if (got !== el.dataset.wantSeconds) say(out.wrong, el, el.dataset.wantSeconds + " s", got + " s");
    }
    for (const el of doc.querySelectorAll("[data-want-poster]")) {
      const got = await load(el.poster);
      if (got !== el.dataset.wantPoster) say(out.wrong, el, el.dataset.wantPoster, got);
    }
    for (const el of doc.querySelectorAll("[data-want-cues]")) {
      if (location.protocol === "file:") continue; // no browser reads tracks there
      el.track.mode = "showing";
      await until(() => el.readyState >= 2, 5000);
      const got = el.track.cues ? el.track.cues.length : 0;
      if (String(got) !== el.dataset.wantCues) say(out.wrong, el, el.dataset.wantCues + " cues", got);
    }
    for (const el of doc.querySelectorAll("[data-want-text]"))
      if (el.textContent !== el.dataset.wantText) say(out.wrong, el, el.dataset.wantText, el.textContent);

    const body = doc.body ? doc.body.dataset : {};
    const root = win.getComputedStyle(doc.documentElement);
    for (const name of (body.styles || "").split(" ").filter(Boolean))
      if (!root.getPropertyValue("--style-" + name)) out.styles.push("the style " + name);
    for (const name of (body.scripts || "").split(" ").filter(Boolean))
      if (!(win.ran || []).includes(name)) out.scripts.push(name);
    for (const el of doc.querySelectorAll("script[type='application/ld+json']"))
      try { JSON.parse(el.textContent); } catch (e) { out.scripts.push("JSON-LD: " + e); }
    const faces = [...doc.fonts];
    await within(Promise.all(faces.map(face => face.load().catch(() => 0))), 5000);
    for (const face of faces) if (face.status === "error") out.fonts.push(face.family);
    for (const one of (body.fonts || "").split(" ").filter(Boolean)) {
      const [family, advance] = one.split(":");
      const pen = doc.createElement("canvas").getContext("2d");
      pen.font = "100px " + family;
      const got = pen.measureText("A").width.toFixed(1);
      if (!doc.fonts.check(pen.font) || got !== advance) out.fonts.push(`${family}: ${got}, want ${advance}`);
    }

    for (const el of doc.querySelectorAll("a, area, iframe, frame, link[rel=next]")) {
      const ref = el.localName.endsWith("frame") ? el.src : el.href && el.href.baseVal !== undefined ? new URL(el.href.baseVal, doc.baseURI).href : el.href;
      if (ref) out.links.push({to: ref, want: el.dataset.wantPage || "", embedded: el.localName.endsWith("frame")});
      else if (el.dataset.wantPage && !el.hasAttribute("href")) out.links.push({to: "", want: el.dataset.wantPage});
    }
    for (const el of doc.querySelectorAll("meta[http-equiv=refresh i]")) {
      const m = /url\s*=\s*['"]?([^'"]*)/i.exec(el.content);
      if (m) out.links.push({to: new URL(m[1], doc.baseURI).href, want: ""});
    }
    for (const frame of doc.querySelectorAll("iframe[srcdoc]"))
      if (frame.contentDocument) await inspect(frame.contentDocument, frame.contentWindow);
      else out.wrong.push("a frame with srcdoc is closed");
    return body.page || "";
  };
  out.page = await inspect(document, window);
  if (!/html/.test(document.contentType)) out.wrong.push("it is shown as " + document.contentType);
  return out;
})()
