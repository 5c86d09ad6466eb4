// A page that was opened from a folder may start no worker, and the theme's search runs in one: there it gets a hidden frame
// that behaves like a worker. The offline plugin asks for this file's name, the theme's script for the name IFrameWorker.
"use strict";

if (location.protocol === "file:") {
  const load = (frame, address) =>
    new Promise((resolve, reject) => {
      const script = frame.document.createElement("script");
      script.src = new URL(address, location.href);
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${address} cannot be read`));
      frame.document.body.append(script);
    });

  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.element = document.createElement("iframe");
      this.element.hidden = true;
      document.body.append(this.element);
      const frame = this.element.contentWindow;
      frame.document.open();
      frame.document.write("<!doctype html><title>search</title><body></body>");
      frame.document.close();
      frame.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      // A worker's own is synchronous; the theme waits for a promise as well.
      frame.importScripts = async (...addresses) => {
        for (const one of addresses) await load(frame, one);
      };
      this.ready = load(frame, address);
    }

    postMessage(data) {
      const frame = this.element.contentWindow;
      this.ready.then(() => frame.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }

    terminate() {
      this.element.remove();
    }
  };
}
