// Search from the disk: a browser starts no worker for a file:// page, so an iframe takes its place.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><html><head></head><body></body></html>");
      inside.document.close();
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...places) => Promise.all(places.map((place) => add(inside, place)));
      this.ready = add(inside, url);
      this.inside = inside;
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  }

  const add = (inside, place) => new Promise((resolve) => {
    const script = inside.document.createElement("script");
    script.src = new URL(place, location.href).href;
    script.onload = resolve;
    inside.document.body.append(script);
  });
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
